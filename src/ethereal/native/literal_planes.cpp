#include "literal_planes.hpp"

#include <algorithm>

#include "bits.hpp"

namespace ethereal {

LiteralPlanes::LiteralPlanes(const uint8_t* booleans, size_t rows, size_t n, ptrdiff_t row_stride,
                             ptrdiff_t column_stride)
    : n_rows(rows), n_booleans(n), n_words((rows + 63) / 64), words_(2 * n * n_words) {
    for (size_t r = 0; r < n_rows; ++r) {
        const uint8_t* value = booleans + ptrdiff_t(r) * row_stride;
        for (size_t b = 0; b < n; ++b, value += column_stride)
            words_[(*value ? b : n + b) * n_words + r / 64] |= uint64_t(1) << (r % 64);
    }
}

uint64_t LiteralPlanes::valid(size_t word) const {
    const size_t left = n_rows - 64 * word;
    return left >= 64 ? ~uint64_t(0) : (uint64_t(1) << left) - 1;
}

void shorten(const LiteralPlanes& planes, std::vector<int32_t>& literals, std::vector<int64_t>& offsets) {
    std::vector<int32_t> kept;
    std::vector<int64_t> new_offsets{0};
    std::vector<uint64_t> open(planes.n_words);  // rows on which some literal must still be false
    for (size_t j = 0; j + 1 < offsets.size(); ++j) {
        std::vector<int32_t> left(literals.begin() + offsets[j], literals.begin() + offsets[j + 1]);
        const size_t first = kept.size();
        for (size_t w = 0; w < planes.n_words; ++w) open[w] = planes.valid(w) & ~planes.firing(left, w);
        while (!left.empty()) {
            uint64_t most = 0;
            size_t best = 0;
            for (size_t i = 0; i < left.size(); ++i) {
                uint64_t count = 0;
                for (size_t w = 0; w < planes.n_words; ++w) count += popcount(open[w] & ~planes[left[i]][w]);
                if (count > most) most = count, best = i;
            }
            // a clause that is true on every row keeps one literal: an empty one would never fire
            if (most == 0 && kept.size() > first) break;
            for (size_t w = 0; w < planes.n_words; ++w) open[w] &= planes[left[best]][w];
            kept.push_back(left[best]);
            left.erase(left.begin() + ptrdiff_t(best));
        }
        std::sort(kept.begin() + ptrdiff_t(first), kept.end());
        new_offsets.push_back(int64_t(kept.size()));
    }
    literals = std::move(kept);
    offsets = std::move(new_offsets);
}

}  // namespace ethereal
