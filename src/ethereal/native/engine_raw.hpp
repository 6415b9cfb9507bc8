// Rows of numbers to bit planes: each value is compared with its feature's thresholds, 64 rows at a time.
//
// A number is taken as float32 where that holds it exactly (then the thresholds are rounded down to float32,
// which changes no comparison) and as float64 otherwise: the same bits as `FeatureMap.encode`.
#pragma once

#include <cstring>
#include <type_traits>

#include "engine_kernels.hpp"
#include "vec.hpp"

namespace ethereal {
namespace {

constexpr u32 kTileFeatures = 8;

// A Boolean as numpy stores it: any byte but 0 is true.
struct Truth {
    u8 byte;
    explicit operator float() const { return byte != 0 ? 1.0f : 0.0f; }
};

// 64 values per feature, contiguous.
template <class Value>
using ValueTile = Value[kTileFeatures][64];

// Bit r: values[r] > threshold (false for NaN).
template <class Value>
inline u64 above(const Value* values, Value threshold) {
    u64 word = 0;
    for (u32 r = 0; r < 64; ++r) word |= u64{values[r] > threshold} << r;
    return word;
}

// Bit r: values[r] is NaN.
template <class Value>
inline u64 absent(const Value* values) {
    u64 word = 0;
    for (u32 r = 0; r < 64; ++r) word |= u64{values[r] != values[r]} << r;
    return word;
}

#if defined(__AVX512BW__)
template <int kPredicate>
inline u64 compare(const float* v, __m512 t) {
    u64 word = 0;
    for (int i = 0; i < 4; ++i)
        word |= u64{_mm512_cmp_ps_mask(_mm512_loadu_ps(v + 16 * i), t, kPredicate)} << (16 * i);
    return word;
}
template <int kPredicate>
inline u64 compare(const double* v, __m512d t) {
    u64 word = 0;
    for (int i = 0; i < 8; ++i)
        word |= u64{_mm512_cmp_pd_mask(_mm512_loadu_pd(v + 8 * i), t, kPredicate)} << (8 * i);
    return word;
}
inline u64 above(const float* v, float t) { return compare<_CMP_GT_OQ>(v, _mm512_set1_ps(t)); }
inline u64 above(const double* v, double t) { return compare<_CMP_GT_OQ>(v, _mm512_set1_pd(t)); }
inline u64 absent(const float* v) { return compare<_CMP_UNORD_Q>(v, _mm512_setzero_ps()); }
inline u64 absent(const double* v) { return compare<_CMP_UNORD_Q>(v, _mm512_setzero_pd()); }

#elif defined(__AVX2__)
// 8 rows, 32 bits of ones or zeros each.
template <int kPredicate>
inline __m256i compare8(const float* v, __m256 t) {
    return _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(v), t, kPredicate));
}
template <int kPredicate>
inline __m256i compare8(const double* v, __m256d t) {
    const __m256d a = _mm256_cmp_pd(_mm256_loadu_pd(v), t, kPredicate);
    const __m256d b = _mm256_cmp_pd(_mm256_loadu_pd(v + 4), t, kPredicate);
    const __m256 halves = _mm256_shuffle_ps(_mm256_castpd_ps(a), _mm256_castpd_ps(b), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
}
template <int kPredicate, class Value, class Broadcast>
inline u64 compare(const Value* v, Broadcast t) {
    const __m256i order =
        _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // undoes what packing within lanes mixes up
    u64 word = 0;
    for (int i = 0; i < 2; ++i, v += 32) {
        const __m256i a = _mm256_packs_epi32(compare8<kPredicate>(v, t), compare8<kPredicate>(v + 8, t));
        const __m256i b =
            _mm256_packs_epi32(compare8<kPredicate>(v + 16, t), compare8<kPredicate>(v + 24, t));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), order);
        word |= u64{static_cast<u32>(_mm256_movemask_epi8(bytes))} << (32 * i);
    }
    return word;
}
inline u64 above(const float* v, float t) { return compare<_CMP_GT_OQ>(v, _mm256_set1_ps(t)); }
inline u64 above(const double* v, double t) { return compare<_CMP_GT_OQ>(v, _mm256_set1_pd(t)); }
inline u64 absent(const float* v) { return compare<_CMP_UNORD_Q>(v, _mm256_setzero_ps()); }
inline u64 absent(const double* v) { return compare<_CMP_UNORD_Q>(v, _mm256_setzero_pd()); }
#endif

#if defined(__AVX2__)
inline __m256 halves(const float* low, const float* high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
inline __m256d halves(const double* low, const double* high) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}

// 64 rows x 8 features, row after row, transposed; false: not for this type.
inline bool transpose_tile(const u8* x, ptrdiff_t row_stride, ValueTile<float>& values, float) {
    for (u32 r = 0; r < 64; r += 8) {
        const u8* const p = x + static_cast<ptrdiff_t>(r) * row_stride;
        auto row = [&](int i) { return reinterpret_cast<const float*>(p + i * row_stride); };
        for (int f = 0; f < 8; f += 4) {
            const __m256 a = halves(row(0) + f, row(4) + f), b = halves(row(1) + f, row(5) + f);
            const __m256 c = halves(row(2) + f, row(6) + f), d = halves(row(3) + f, row(7) + f);
            const __m256 ab0 = _mm256_unpacklo_ps(a, b), ab1 = _mm256_unpackhi_ps(a, b);
            const __m256 cd0 = _mm256_unpacklo_ps(c, d), cd1 = _mm256_unpackhi_ps(c, d);
            _mm256_storeu_ps(values[f] + r, _mm256_shuffle_ps(ab0, cd0, 0x44));
            _mm256_storeu_ps(values[f + 1] + r, _mm256_shuffle_ps(ab0, cd0, 0xee));
            _mm256_storeu_ps(values[f + 2] + r, _mm256_shuffle_ps(ab1, cd1, 0x44));
            _mm256_storeu_ps(values[f + 3] + r, _mm256_shuffle_ps(ab1, cd1, 0xee));
        }
    }
    return true;
}
inline bool transpose_tile(const u8* x, ptrdiff_t row_stride, ValueTile<double>& values, double) {
    for (u32 r = 0; r < 64; r += 4) {
        const u8* const p = x + static_cast<ptrdiff_t>(r) * row_stride;
        auto row = [&](int i) { return reinterpret_cast<const double*>(p + i * row_stride); };
        for (int f = 0; f < 8; f += 2) {
            const __m256d a = halves(row(0) + f, row(2) + f), b = halves(row(1) + f, row(3) + f);
            _mm256_storeu_pd(values[f] + r, _mm256_unpacklo_pd(a, b));
            _mm256_storeu_pd(values[f + 1] + r, _mm256_unpackhi_pd(a, b));
        }
    }
    return true;
}
template <class Source, class Value>
inline bool transpose_tile(const u8*, ptrdiff_t, ValueTile<Value>&, Source) {
    return false;
}
#endif

template <class Source, class Value>
inline void load_tile_of(const u8* x, ptrdiff_t row_stride, ptrdiff_t column_stride, u32 rows, u32 n_features,
                         ValueTile<Value>& values) {
#if defined(__AVX2__)
    if (rows == 64 && n_features == kTileFeatures && column_stride == sizeof(Source) &&
        transpose_tile(x, row_stride, values, Source{}))
        return;
#endif
    for (u32 r = 0; r < rows; ++r) {
        const u8* p = x + static_cast<ptrdiff_t>(r) * row_stride;
        for (u32 j = 0; j < n_features; ++j, p += column_stride) {
            Source value;
            std::memcpy(&value, p, sizeof value);
            values[j][r] = static_cast<Value>(value);
        }
    }
    for (u32 j = 0; j < n_features; ++j)
        for (u32 r = rows; r < 64; ++r) values[j][r] = 0;
}

inline const float* thresholds_of(const RawFeatureMap& feature_map, float) {
    return feature_map.thresholds_float32;
}
inline const double* thresholds_of(const RawFeatureMap& feature_map, double) {
    return feature_map.thresholds;
}

// Word `w` of the planes of features first .. first + n. False: NaN where it is not allowed.
template <class T, class Value>
inline bool encode(const ValueTile<Value>& values, u32 first, u32 n, bool has_nan,
                   const RawFeatureMap& feature_map, u32 w, u64* planes) {
    constexpr size_t W = T::kWords;
    const Value* const thresholds = thresholds_of(feature_map, Value{});
    bool clean = true;
    for (u32 j = 0; j < n; ++j) {
        const u32 f = first + j;
        const u64 nan = has_nan ? absent(values[j]) : 0;
        if (nan && !feature_map.takes_missing[f]) clean = false;
        if (!feature_map.used[f]) continue;
        u64* out = planes + static_cast<size_t>(feature_map.boolean_offsets[f]) * W + w;
        u64 below = ~nan;  // one-hot: above the threshold before
        for (int64_t i = feature_map.threshold_offsets[f]; i < feature_map.threshold_offsets[f + 1];
             ++i, out += W) {
            const u64 bits = above(values[j], thresholds[i]);
            *out = feature_map.binned[f] ? below & ~bits : bits;
            below = bits;
        }
        if (feature_map.binned[f]) {
            *out = below;
            out += W;
        }
        if (feature_map.missing[f]) *out = nan;
    }
    return clean;
}

template <class T, class Source, class Value>
bool encode_numbers(const u8* x, ptrdiff_t row_stride, ptrdiff_t column_stride, u32 rows, u32 first,
                    u32 n_features, const RawFeatureMap& feature_map, u64* planes) {
    constexpr bool has_nan = std::is_floating_point<Source>::value;
    ValueTile<Value> values;
    bool clean = true;
    auto step = [&](u32 f, u32 n, u32 w) {
        const u32 left = rows - 64 * w;
        load_tile_of<Source, Value>(
            x + static_cast<ptrdiff_t>(64 * w) * row_stride + static_cast<ptrdiff_t>(f) * column_stride,
            row_stride, column_stride, left < 64 ? left : 64, n, values);
        clean &= encode<T, Value>(values, first + f, n, has_nan, feature_map, w, planes);
    };
    // Along the memory: column after column, or 64 rows after 64 rows. There, the tiles of 64 rows are too
    // many streams for the processor to foresee, so the next 64 rows are fetched meanwhile, a share with each
    // tile.
    if (row_stride == sizeof(Source)) {
        for (u32 f = 0; f < n_features; ++f)
            for (u32 w = 0; 64 * w < rows; ++w) step(f, 1, w);
    } else {
        const ptrdiff_t n_tiles = (n_features + kTileFeatures - 1) / kTileFeatures;
        const ptrdiff_t share = 64 * row_stride / n_tiles;  // bytes
        for (u32 w = 0; 64 * w < rows; ++w) {
            const u8* next = x + static_cast<ptrdiff_t>(64 * (w + 1)) * row_stride;
            for (u32 f = 0; f < n_features; f += kTileFeatures, next += share) {
                for (ptrdiff_t i = 0; i < share; i += 64) prefetch(next + i);
                step(f, n_features - f < kTileFeatures ? n_features - f : kTileFeatures, w);
            }
        }
    }
    return clean;
}

template <class T>
bool encode_any(Number number, const u8* x, ptrdiff_t row_stride, ptrdiff_t column_stride, u32 rows,
                u32 first, u32 n, const RawFeatureMap& feature_map, u64* planes) {
#define ETHEREAL_CASE(NAME, SOURCE, VALUE)                                                                 \
    case Number::NAME:                                                                                     \
        return encode_numbers<T, SOURCE, VALUE>(x, row_stride, column_stride, rows, first, n, feature_map, \
                                                planes);
    switch (number) {
        ETHEREAL_CASE(Bool, Truth, float)
        ETHEREAL_CASE(U8, u8, float)
        ETHEREAL_CASE(I8, int8_t, float)
        ETHEREAL_CASE(U16, uint16_t, float)
        ETHEREAL_CASE(I16, int16_t, float)
        ETHEREAL_CASE(U32, u32, double)
        ETHEREAL_CASE(I32, int32_t, double)
        ETHEREAL_CASE(U64, u64, double)
        ETHEREAL_CASE(I64, int64_t, double)
        ETHEREAL_CASE(F32, float, float)
        ETHEREAL_CASE(F64, double, double)
    }
#undef ETHEREAL_CASE
    return false;
}

template <class T>
bool planes_from_raw(const Matrix& x, size_t first_row, u32 rows, const RawFeatureMap& feature_map,
                     u64* planes) {
    const auto skip = static_cast<ptrdiff_t>(first_row);
    if (x.columns == nullptr)
        return encode_any<T>(x.number, x.data + skip * x.row_stride, x.row_stride, x.column_stride, rows, 0,
                             feature_map.n_features, feature_map, planes);
    bool clean = true;
    for (u32 f = 0; f < feature_map.n_features; ++f) {
        const Column& column = x.columns[f];
        clean &= encode_any<T>(column.number, column.data + skip * column.stride, column.stride, 0, rows, f,
                               1, feature_map, planes);
    }
    return clean;
}

}  // namespace
}  // namespace ethereal
