// Rows of Booleans, from a matrix of bytes or from packed bits, to bit planes.
//
// Row-major sources go through an intermediate form, "octets": [8 rows][Boolean] bytes, bit i of a byte
// belonging to row i of the 8. Making it is a matter of shifts and ORs, or of transposing 8x8 bits; octets to
// planes is a transpose of bytes.
#pragma once

#include <cstring>

#include "engine_kernels.hpp"
#include "vec.hpp"

namespace ethereal {
namespace {

inline u64 load64(const u8* p) {
    u64 v;
    std::memcpy(&v, p, 8);
    return v;
}

inline size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// 8 words as rows of 8 bytes, transposed.
inline void transpose_bytes(u64 w[8]) {
    for (int i = 0; i < 4; ++i) {  // 4x4 blocks
        const u64 t = ((w[i] >> 32) ^ w[i + 4]) & 0x00000000ffffffffu;
        w[i + 4] ^= t;
        w[i] ^= t << 32;
    }
    for (int k = 0; k < 4; ++k) {  // 2x2 blocks
        const int i = k / 2 * 4 + k % 2;
        const u64 t = ((w[i] >> 16) ^ w[i + 2]) & 0x0000ffff0000ffffu;
        w[i + 2] ^= t;
        w[i] ^= t << 16;
    }
    for (int i = 0; i < 8; i += 2) {
        const u64 t = ((w[i] >> 8) ^ w[i + 1]) & 0x00ff00ff00ff00ffu;
        w[i + 1] ^= t;
        w[i] ^= t << 8;
    }
}

// 8x8 bits, byte i of the word being row i, transposed.
inline u64 transpose_bits(u64 w) {
    u64 t = (w ^ (w >> 7)) & 0x00aa00aa00aa00aau;
    w ^= t ^ (t << 7);
    t = (w ^ (w >> 14)) & 0x0000cccc0000ccccu;
    w ^= t ^ (t << 14);
    t = (w ^ (w >> 28)) & 0x00000000f0f0f0f0u;
    return w ^ t ^ (t << 28);
}

// 8 rows of n bytes to one row of octets. Returns the OR of all bytes.
inline u64 octets_words(const u8* const rows[8], size_t n, u8* octets) {
    u64 seen = 0;
    size_t c = 0;
    for (; c + 8 <= n; c += 8) {
        u64 sum = 0;
        for (int i = 0; i < 8; ++i) {
            const u64 v = load64(rows[i] + c);
            seen |= v;
            sum |= (v & 0x0101010101010101u) << i;
        }
        std::memcpy(octets + c, &sum, 8);
    }
    for (; c < n; ++c) {
        u32 sum = 0;
        for (int i = 0; i < 8; ++i) {
            seen |= rows[i][c];
            sum |= (rows[i][c] & 1u) << i;
        }
        octets[c] = static_cast<u8>(sum);
    }
    return seen;
}

// `ahead`: bytes from these rows to those that come next, for the cache.
inline u64 octets_from_bytes(const u8* const rows[8], size_t n, ptrdiff_t ahead, u8* octets) {
#if defined(__AVX2__)
    if (n >= 32) {
        size_t c = 0;
        const __m256i one = _mm256_set1_epi8(1);
        __m256i any = _mm256_setzero_si256();
        for (;;) {
            __m256i sum = _mm256_setzero_si256();
            for (int i = 7; i >= 0; --i) {
                prefetch(rows[i] + c + ahead);
                const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[i] + c));
                any = _mm256_or_si256(any, v);
                sum = _mm256_or_si256(_mm256_add_epi8(sum, sum), _mm256_and_si256(v, one));
            }
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(octets + c), sum);
            if (c + 32 == n) break;
            c = c + 64 <= n ? c + 32 : n - 32;  // the last step may overlap the one before
        }
        alignas(32) u64 lanes[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), any);
        return lanes[0] | lanes[1] | lanes[2] | lanes[3];
    }
#endif
    (void)ahead;
    return octets_words(rows, n, octets);
}

// 8 rows of packed bits (bit c of a row: bit c % 8 of its byte c / 8) to one row of octets, padded to 64
// columns.
inline void octets_from_bits(const u8* const rows[8], size_t n_bytes, u8* octets) {
    for (size_t b = 0; b < n_bytes; b += 8) {
        u64 w[8];
        if (b + 8 <= n_bytes) {
            for (int i = 0; i < 8; ++i) w[i] = load64(rows[i] + b);
        } else {
            for (int i = 0; i < 8; ++i) {
                w[i] = 0;
                std::memcpy(&w[i], rows[i] + b, n_bytes - b);
            }
        }
        transpose_bytes(w);
        for (int i = 0; i < 8; ++i) {
            w[i] = transpose_bits(w[i]);
            std::memcpy(octets + 8 * b + 8 * i, &w[i], 8);
        }
    }
}

// Octets of 64 rows, [8][stride], to word 0 of n planes that are W words apart.
template <size_t W>
inline void planes_from_octets(const u8* octets, size_t stride, size_t n, u64* planes) {
    size_t c = 0;
#if defined(__AVX2__)
    for (; c + 32 <= n; c += 32) {
        __m256i a[8], b[8];
        for (int i = 0; i < 8; ++i)
            a[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(octets + i * stride + c));
        for (int i = 0; i < 4;
             ++i) {  // bytes of rows 2i and 2i + 1 side by side: columns 0-7 and 16-23, then 8-15, 24-31
            b[i] = _mm256_unpacklo_epi8(a[2 * i], a[2 * i + 1]);
            b[i + 4] = _mm256_unpackhi_epi8(a[2 * i], a[2 * i + 1]);
        }
        for (int h = 0; h < 2; ++h) {
            const __m256i* const p = b + 4 * h;
            const __m256i lo01 = _mm256_unpacklo_epi16(p[0], p[1]), lo23 = _mm256_unpacklo_epi16(p[2], p[3]);
            const __m256i hi01 = _mm256_unpackhi_epi16(p[0], p[1]), hi23 = _mm256_unpackhi_epi16(p[2], p[3]);
            const __m256i q[4] = {_mm256_unpacklo_epi32(lo01, lo23), _mm256_unpackhi_epi32(lo01, lo23),
                                  _mm256_unpacklo_epi32(hi01, hi23), _mm256_unpackhi_epi32(hi01, hi23)};
            for (int k = 0; k < 4; ++k) {  // q[k]: columns 8h + 2k, 8h + 2k + 1, and 16 further on
                u64* const out = planes + (c + 8 * h + 2 * k) * W;
                const __m128i low = _mm256_castsi256_si128(q[k]), high = _mm256_extracti128_si256(q[k], 1);
                _mm_storel_epi64(reinterpret_cast<__m128i*>(out), low);
                _mm_storeh_pd(reinterpret_cast<double*>(out + W), _mm_castsi128_pd(low));
                _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 16 * W), high);
                _mm_storeh_pd(reinterpret_cast<double*>(out + 17 * W), _mm_castsi128_pd(high));
            }
        }
    }
#endif
    for (; c < n; c += 8) {
        u64 w[8];
        for (int i = 0; i < 8; ++i) w[i] = load64(octets + i * stride + c);  // rows of octets are padded
        transpose_bytes(w);
        for (size_t i = 0; i < 8 && c + i < n; ++i) planes[(c + i) * W] = w[i];
    }
}

// Bytes 0 or 1 of up to 64 rows of one column to a word; `seen` collects the bytes.
inline u64 column_word(const u8* x, u32 rows, u64& seen) {
    u64 word = 0;
#if defined(__AVX2__)
    if (rows == 64) {
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
        const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 32));
        const __m256i both = _mm256_or_si256(low, high);
        seen |= !_mm256_testz_si256(both, _mm256_set1_epi8(static_cast<char>(0xfe))) ? 2 : 0;
        const u32 a = static_cast<u32>(_mm256_movemask_epi8(_mm256_slli_epi16(low, 7)));
        const u32 b = static_cast<u32>(_mm256_movemask_epi8(_mm256_slli_epi16(high, 7)));
        return a | u64{b} << 32;
    }
#endif
    u32 r = 0;
    for (; r + 8 <= rows; r += 8) {
        const u64 v = load64(x + r);
        seen |= v;
        word |= ((v & 0x0101010101010101u) * 0x0102040810204080u >> 56) << r;
    }
    for (; r < rows; ++r) {
        seen |= x[r];
        word |= u64{x[r] & 1u} << r;
    }
    return word;
}

inline size_t octets_stride(size_t n_booleans) { return round_up(n_booleans, 64) + 64; }

// 8 rows of octets, 8 gathered rows, and a row of zeros that stands for rows past the end.
inline size_t scratch_bytes(u32 n_booleans) { return 17 * octets_stride(n_booleans); }

// Rows to planes by way of octets: `make(first, octets)` turns the 8 rows from `first` on into octets.
template <class T, class Make>
inline void planes_by_octets(u32 rows, u32 n, u64* planes, u8* scratch, Make make) {
    const size_t stride = octets_stride(n);
    for (u32 w = 0; 64 * w < rows; ++w) {
        for (u32 g = 0; g < 8; ++g) {
            const u32 first = 64 * w + 8 * g;
            u8* const octets = scratch + g * stride;
            if (first < rows)
                make(first, octets);
            else
                std::memset(octets, 0, n);
        }
        planes_from_octets<T::kWords>(scratch, stride, n, planes + w);
    }
}

template <class T>
bool planes_from_bools(const Matrix& x, u32 rows, u32 n, u64* planes, u8* scratch) {
    constexpr u32 W = T::kWords;
    u64 seen = 0;
    if (x.row_stride == 1) {  // column-major
        for (u32 c = 0; c < n; ++c) {
            const u8* const column = x.data + static_cast<ptrdiff_t>(c) * x.column_stride;
            for (u32 w = 0; 64 * w < rows; ++w) {
                const u32 left = rows - 64 * w;
                planes[size_t{c} * W + w] = column_word(column + 64 * w, left < 64 ? left : 64, seen);
            }
        }
        return (seen & 0xfefefefefefefefeu) == 0;
    }
    const size_t stride = octets_stride(n);
    u8* const gathered = scratch + 8 * stride;
    u8* const zeros = scratch + 16 * stride;
    std::memset(zeros, 0, n);
    planes_by_octets<T>(rows, n, planes, scratch, [&](u32 first, u8* octets) {
        const u8* row[8];
        for (u32 i = 0; i < 8; ++i) {
            if (first + i >= rows) {
                row[i] = zeros;
                continue;
            }
            row[i] = x.data + static_cast<ptrdiff_t>(first + i) * x.row_stride;
            if (x.column_stride != 1) {
                u8* const copy = gathered + i * stride;
                for (u32 c = 0; c < n; ++c) copy[c] = row[i][static_cast<ptrdiff_t>(c) * x.column_stride];
                row[i] = copy;
            }
        }
        seen |= octets_from_bytes(row, n, 8 * x.row_stride, octets);
    });
    return (seen & 0xfefefefefefefefeu) == 0;
}

template <class T>
void planes_from_packed(const u8* x, ptrdiff_t row_stride, u32 rows, u32 n, u64* planes, u8* scratch) {
    const size_t n_bytes = (size_t{n} + 7) / 8;
    u8* const zeros = scratch + 16 * octets_stride(n);
    std::memset(zeros, 0, n_bytes);
    planes_by_octets<T>(rows, n, planes, scratch, [&](u32 first, u8* octets) {
        const u8* row[8];
        for (u32 i = 0; i < 8; ++i)
            row[i] = first + i < rows ? x + static_cast<ptrdiff_t>(first + i) * row_stride : zeros;
        octets_from_bits(row, n_bytes, octets);
    });
}

}  // namespace
}  // namespace ethereal
