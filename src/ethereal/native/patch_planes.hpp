// The planes of one row, in eight copies shifted by one bit each. So a literal at any place of the patch is
// read with one load per vector of positions. Included by one translation unit per instruction set (see
// lanes.hpp).
#pragma once
#include <algorithm>
#include <cstring>

#include "aligned.hpp"
#include "bits.hpp"
#include "lanes.hpp"
#include "patch.hpp"

// A function of its own keeps its few values in registers, which those around it would take.
#ifdef _MSC_VER
#define ETHEREAL_NOINLINE __declspec(noinline)
#else
#define ETHEREAL_NOINLINE __attribute__((noinline))
#endif

namespace ethereal {
namespace {

inline uint64_t load_word(const uint8_t* p) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

class PatchPlanes {
public:
    using Bytes = Lanes::Bytes;
    static constexpr size_t kWidth = Lanes::kWidth;

    explicit PatchPlanes(const PatchShape& shape) : shape_(shape) {
        const size_t bytes = (shape.span() + 63) / 64 * 8;
        n_vectors_ = bytes / kWidth;
        n_words_ = bytes % kWidth / 8;
        if (n_words_ > 2) ++n_vectors_, n_words_ = 0;
        span_ = n_vectors_ * kWidth + 8 * n_words_;
        stride_ = (shape.cells() + 63) / 64 * 8 + span_;
        first_place_ = 8 * stride_ * shape.planes;
        buffer_.resize(first_place_ + span_ * shape.n_places());
        valid_.resize(span_);
        for (uint32_t y = 0; y < shape.rows(); ++y)
            for (uint32_t x = 0; x < shape.columns(); ++x) {
                const size_t p = size_t(y) * shape.width + x;
                set(valid_.data(), p);
                if (!shape.places) continue;
                for (uint32_t k = 0; k < y; ++k) set(&buffer_[first_place_ + span_ * k], p);
                for (uint32_t k = 0; k < x; ++k)
                    set(&buffer_[first_place_ + span_ * (shape.rows() - 1 + k)], p);
            }
    }

    size_t span() const { return span_; }  // bytes of the positions of a clause

    // Where the bits of a clause's Boolean are, for the positions in their order.
    uint32_t place(uint32_t boolean) const {
        if (boolean >= shape_.n_content())
            return uint32_t(first_place_ + span_ * (boolean - shape_.n_content()));
        const uint32_t plane = boolean % shape_.planes, cell = boolean / shape_.planes;
        const size_t shift = size_t(cell / shape_.patch_width) * shape_.width + cell % shape_.patch_width;
        return uint32_t((8 * plane + shift % 8) * stride_ + shift / 8);
    }

    void load(const uint64_t* planes) {
        const size_t n = shape_.plane_words();
        uint8_t* to = buffer_.data();
        for (uint32_t b = 0; b < shape_.planes; ++b, planes += n, to += 8 * stride_) {
            std::memcpy(to, planes, 8 * n);
            for (size_t r = 1; r < 8; ++r)
                for (size_t k = 0; k < n; ++k) {
                    const uint64_t next = k + 1 < n ? planes[k + 1] : 0;
                    const uint64_t word = planes[k] >> r | next << (64 - r);
                    std::memcpy(to + r * stride_ + 8 * k, &word, 8);
                }
        }
    }

    // The positions where all of these hold: `places` of Booleans, the first n_true of them as they are, the
    // others negated. Returns whether there is one. `match` has span() bytes.
    ETHEREAL_NOINLINE bool match(const uint32_t* places, size_t n_true, size_t n, uint8_t* match) const {
        const uint8_t* const at = buffer_.data();
        bool any = false;
        for (size_t v = 0; v < n_vectors_; ++v) {
            const Bytes left =
                match_vector(at + v * kWidth, Lanes::load(&valid_[v * kWidth]), places, n_true, n);
            any |= !is_zero(left);
            Lanes::store(match + v * kWidth, left);
        }
        for (size_t b = n_vectors_ * kWidth; b < span_; b += 8) {
            uint64_t left = load_word(&valid_[b]);
            size_t i = 0;
            for (; left && i < n_true; ++i) left &= load_word(at + b + places[i]);
            for (; left && i < n; ++i) left &= ~load_word(at + b + places[i]);
            any |= left != 0;
            std::memcpy(match + b, &left, 8);
        }
        return any;
    }

private:
    // Four literals at a time, because a test for zero takes about as long as they do.
    static Bytes match_vector(const uint8_t* from, Bytes left, const uint32_t* places, size_t n_true,
                              size_t n) {
        const auto bits = [&](size_t i) { return Lanes::load(from + places[i]); };
        size_t i = 0;
        for (; i + 4 <= n_true; i += 4) {
            left = Lanes::both(
                left, Lanes::both(Lanes::both(bits(i), bits(i + 1)), Lanes::both(bits(i + 2), bits(i + 3))));
            if (is_zero(left)) return left;
        }
        for (; i < n_true; ++i) left = Lanes::both(left, bits(i));
        for (; i + 4 <= n; i += 4) {
            left = Lanes::without(left, Lanes::either(Lanes::either(bits(i), bits(i + 1)),
                                                      Lanes::either(bits(i + 2), bits(i + 3))));
            if (is_zero(left)) return left;
        }
        for (; i < n; ++i) left = Lanes::without(left, bits(i));
        return left;
    }

    static void set(uint8_t* bits, size_t i) { bits[i / 8] |= uint8_t(1u << (i % 8)); }
    static bool is_zero(Bytes x) { return Lanes::zero64(x) == (uint64_t(1) << (kWidth / 8)) - 1; }

    const PatchShape& shape_;
    size_t n_vectors_, n_words_, span_, stride_, first_place_;
    // Planes x 8 shifts x stride_ bytes, then those of the places. Bits behind a plane are 0.
    AlignedVector<uint8_t, PatchPlanes> buffer_, valid_;
};

inline void match_all(const PatchClauses& clauses, const uint64_t* planes, size_t n_rows, uint8_t* fires) {
    PatchPlanes row(clauses.patch);
    const uint32_t n = clauses.patch.n_booleans();
    AlignedVector<uint32_t, PatchPlanes> places(size_t(clauses.offsets[clauses.n_clauses]));
    AlignedVector<size_t, PatchPlanes> n_true(clauses.n_clauses);
    for (size_t j = 0; j < clauses.n_clauses; ++j)
        for (int64_t i = clauses.offsets[j]; i < clauses.offsets[j + 1]; ++i) {
            const uint32_t literal = uint32_t(clauses.literals[i]);
            n_true[j] += literal < n;
            places[size_t(i)] = row.place(literal % n);
        }
    AlignedVector<uint8_t, PatchPlanes> match(row.span());
    for (size_t r = 0; r < n_rows; ++r, planes += clauses.patch.row_words()) {
        row.load(planes);
        for (size_t j = 0; j < clauses.n_clauses; ++j) {
            const size_t first = size_t(clauses.offsets[j]), length = size_t(clauses.offsets[j + 1]) - first;
            *fires++ = length && row.match(places.data() + first, n_true[j], length, match.data());
        }
    }
}

}  // namespace
}  // namespace ethereal

#define ETHEREAL_DEFINE_MATCHER(name)                                                               \
    namespace ethereal {                                                                            \
    void name(const PatchClauses& clauses, const uint64_t* planes, size_t n_rows, uint8_t* fires) { \
        match_all(clauses, planes, n_rows, fires);                                                  \
    }                                                                                               \
    }
