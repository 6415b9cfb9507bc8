// The kernel tables of one instruction set; included once per set, by engine_scalar.cpp and its siblings.
#pragma once

#include "engine_planes.hpp"
#include "engine_raw.hpp"
#include "engine_votes.hpp"

namespace ethereal {
namespace {

template <int N>
constexpr Kernels make_kernels() {
    return {Tile<N>::kWords, planes_from_bools<N>, planes_from_packed<N>, planes_from_raw<N>,
            scratch_bytes,   predict<N>,           class_sums<N>,         clause_outputs<N>};
}

}  // namespace
}  // namespace ethereal
