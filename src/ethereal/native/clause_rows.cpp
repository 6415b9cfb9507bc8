#include "clause_rows.hpp"

#include <algorithm>

#include "bits.hpp"
#include "widest.hpp"

namespace ethereal {

std::vector<uint32_t> WholeRows::firing(const std::vector<int32_t>& literals) const {
    std::vector<uint32_t> rows;
    for (size_t w = 0; w < planes_.n_words; ++w)
        for (uint64_t left = planes_.firing(literals, w); left; left &= left - 1)
            rows.push_back(uint32_t(64 * w + ctz(left)));
    return rows;
}

void WholeRows::find_kept_off(const std::vector<int32_t>& literals,
                              std::vector<std::vector<uint32_t>>& rows) const {
    for (size_t w = 0; w < planes_.n_words; ++w) {
        uint64_t one = 0, more = 0;
        for (int32_t l : literals) {
            const uint64_t is_false = ~planes_[l][w];
            more |= one & is_false;
            one |= is_false;
        }
        const uint64_t single = one & ~more & planes_.valid(w);
        if (!single) continue;
        for (size_t k = 0; k < literals.size(); ++k)
            for (uint64_t left = single & ~planes_[literals[k]][w]; left; left &= left - 1)
                rows[k].push_back(uint32_t(64 * w + ctz(left)));
    }
}

namespace {

// A literal at the positions of one row.
struct Shifted {
    const uint64_t* words;
    unsigned shift;
    uint64_t flip;
    uint64_t is_false(size_t k) const {
        return ~flip ^ (words[k] >> shift | (words[k + 1] << 1) << (63 - shift));
    }
};

// Positions where a literal is false, and where two are. Returns whether any position has one at most.
ETHEREAL_WIDEST bool count_false(const Shifted* tests, size_t n, const uint64_t* valid, size_t n_words,
                                 uint64_t* one, uint64_t* more) {
    for (size_t i = 0; i < n; ++i) {
        const Shifted t = tests[i];
        for (size_t k = 0; k < n_words; ++k) {
            const uint64_t is_false = t.is_false(k);
            more[k] |= one[k] & is_false;
            one[k] |= is_false;
        }
        if (i % 4 != 3) continue;
        uint64_t left = 0;
        for (size_t k = 0; k < n_words; ++k) left |= valid[k] & ~more[k];
        if (!left) return false;
    }
    return true;
}

ETHEREAL_WIDEST bool is_false_in(const Shifted t, const uint64_t* positions, size_t n_words) {
    uint64_t any = 0;
    for (size_t k = 0; k < n_words; ++k) any |= positions[k] & t.is_false(k);
    return any != 0;
}

// Leaves the positions where a literal is true. Returns whether there is one.
ETHEREAL_WIDEST bool keep_true(const Shifted t, uint64_t* positions, size_t n_words) {
    uint64_t any = 0;
    for (size_t k = 0; k < n_words; ++k) {
        positions[k] &= ~t.is_false(k);
        any |= positions[k];
    }
    return any != 0;
}

}  // namespace

PatchRows::PatchRows(const PatchShape& patch, const uint8_t* booleans, size_t rows, ptrdiff_t row_stride,
                     ptrdiff_t column_stride)
    : ClauseRows(rows, patch.n_booleans()),
      patch_(patch),
      n_words_((patch.span() + 63) / 64),
      plane_words_(patch.plane_words() + 2),
      valid_(n_words_),
      planes_(rows * patch.planes * plane_words_),
      places_(patch.n_places() * (n_words_ + 1)) {
    for (uint32_t y = 0; y < patch.rows(); ++y)
        for (uint32_t x = 0; x < patch.columns(); ++x) {
            const size_t p = size_t(y) * patch.width + x;
            const uint64_t bit = uint64_t(1) << (p % 64);
            valid_[p / 64] |= bit;
            for (uint32_t k = 0; k < y && patch.places; ++k) places_[k * (n_words_ + 1) + p / 64] |= bit;
            for (uint32_t k = 0; k < x && patch.places; ++k)
                places_[(patch.rows() - 1 + k) * (n_words_ + 1) + p / 64] |= bit;
        }
    for (size_t r = 0; r < rows; ++r) {
        const uint8_t* value = booleans + ptrdiff_t(r) * row_stride;
        uint64_t* const planes = planes_.data() + r * patch.planes * plane_words_;
        for (size_t cell = 0; cell < patch.cells(); ++cell)
            for (size_t b = 0; b < patch.planes; ++b, value += column_stride)
                if (*value) planes[b * plane_words_ + cell / 64] |= uint64_t(1) << (cell % 64);
    }
}

std::vector<PatchRows::Test> PatchRows::tests_of(const std::vector<int32_t>& literals) const {
    std::vector<Test> tests;
    for (int32_t l : literals) {
        const bool negated = size_t(l) >= n_booleans;
        const auto b = uint32_t(negated ? size_t(l) - n_booleans : size_t(l));
        const uint64_t flip = negated ? ~uint64_t(0) : 0;
        if (b >= patch_.n_content()) {
            tests.push_back({(b - patch_.n_content()) * (n_words_ + 1), 0, true, flip});
            continue;
        }
        const uint32_t plane = b % patch_.planes, cell = b / patch_.planes;
        const size_t shift = size_t(cell / patch_.patch_width) * patch_.width + cell % patch_.patch_width;
        tests.push_back({plane * plane_words_ + shift / 64, unsigned(shift % 64), false, flip});
    }
    return tests;
}

std::vector<uint32_t> PatchRows::firing(const std::vector<int32_t>& literals) const {
    const std::vector<Test> tests = tests_of(literals);
    std::vector<uint64_t> left(n_words_);
    std::vector<uint32_t> rows;
    for (size_t r = 0; r < n_rows; ++r) {
        left = valid_;
        bool any = true;
        for (size_t i = 0; i < tests.size() && any; ++i)
            any = keep_true({words_of(tests[i], r), tests[i].shift, tests[i].flip}, left.data(), n_words_);
        if (any) rows.push_back(uint32_t(r));
    }
    return rows;
}

void PatchRows::find_kept_off(const std::vector<int32_t>& literals,
                              std::vector<std::vector<uint32_t>>& rows) const {
    const std::vector<Test> tests = tests_of(literals);
    std::vector<Shifted> here(tests.size());
    std::vector<uint64_t> one(n_words_), more(n_words_);
    for (size_t r = 0; r < n_rows; ++r) {
        for (size_t i = 0; i < tests.size(); ++i)
            here[i] = {words_of(tests[i], r), tests[i].shift, tests[i].flip};
        std::fill(one.begin(), one.end(), 0);
        std::fill(more.begin(), more.end(), 0);
        if (!count_false(here.data(), here.size(), valid_.data(), n_words_, one.data(), more.data()))
            continue;
        uint64_t fires = 0, any = 0;
        for (size_t k = 0; k < n_words_; ++k) {
            fires |= valid_[k] & ~one[k];
            any |= one[k] &= ~more[k] & valid_[k];  // now where exactly one is false
        }
        if (fires || !any) continue;
        for (size_t i = 0; i < here.size(); ++i)
            if (is_false_in(here[i], one.data(), n_words_)) rows[i].push_back(uint32_t(r));
    }
}

}  // namespace ethereal
