// The kernel tables of one instruction set; included once per set, by engine_scalar.cpp and its siblings.
#pragma once

#include "engine_planes.hpp"
#include "engine_raw.hpp"
#include "engine_votes.hpp"

namespace ethereal {
namespace {

template <class T>
constexpr Kernels make_kernels() {
    return {T::kWords,     planes_from_bools<T>, planes_from_packed<T>, planes_from_raw<T>,
            scratch_bytes, predict<T>,           class_sums<T>,         clause_outputs<T>};
}

template <int N>
constexpr KernelSet make_kernel_set() {
    return {make_kernels<Tile<Word, 1>>(), make_kernels<Tile<Vec, 1>>(), make_kernels<Tile<Vec, N>>()};
}

}  // namespace
}  // namespace ethereal
