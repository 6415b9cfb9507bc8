#pragma once
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <tuple>

#include "patch.hpp"

namespace ethereal {

// Height and width of a row, height and width of a patch, planes, places.
using PatchNumbers = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, bool>;

inline PatchShape patch_of(const PatchNumbers& numbers, uint32_t n_booleans) {
    const auto [height, width, patch_height, patch_width, planes, places] = numbers;
    const PatchShape shape{height, width, patch_height, patch_width, planes, places};
    const bool fits = height <= (1u << 24) && width <= (1u << 24) && planes <= (1u << 24);
    if (!fits || !shape.is_valid() || shape.n_booleans() != n_booleans)
        throw std::invalid_argument("patch: out of range, or not of so many Booleans");
    return shape;
}

}  // namespace ethereal

void bind_patches(nanobind::module_& m);
