#include "patch.hpp"

#include <algorithm>

#include "bits.hpp"
#include "cpu.hpp"

namespace ethereal {

void fill_planes(const PatchShape& shape, const uint64_t* row, uint64_t* planes) {
    const size_t n = shape.plane_words(), cells = shape.cells();
    std::fill_n(planes, shape.row_words(), 0);
    if (shape.planes == 1) {
        std::copy_n(row, n, planes);
        if (cells % 64) planes[n - 1] &= (uint64_t(1) << (cells % 64)) - 1;  // negations may follow
        return;
    }
    const size_t last = shape.row_booleans();
    size_t cell = 0, first = 0;  // of the Booleans of the cell
    for (size_t w = 0; 64 * w < last; ++w) {
        uint64_t left = row[w];
        if (last - 64 * w < 64) left &= (uint64_t(1) << (last - 64 * w)) - 1;
        for (; left; left &= left - 1) {
            const size_t i = 64 * w + ctz(left);
            if (i - first >= shape.planes) {
                cell = i / shape.planes;
                first = cell * shape.planes;
            }
            planes[(i - first) * n + cell / 64] |= uint64_t(1) << (cell % 64);
        }
    }
}

MatchPatches* match_patches() {
    switch (cpu::isa()) {
#if ETHEREAL_X86
        case cpu::Isa::Avx512: return match_patches_avx512;
        case cpu::Isa::Avx2: return match_patches_avx2;
#elif ETHEREAL_ARM64
        case cpu::Isa::Neon: return match_patches_neon;
#endif
        default: return match_patches_scalar;
    }
}

}  // namespace ethereal
