// The few vector operations that training needs, once per instruction set, behind one interface.
//
// A `Bytes` holds kWidth signed bytes. Each translation unit that includes this file defines at most one of
// ETHEREAL_AVX2, ETHEREAL_AVX512 and ETHEREAL_NEON and is compiled for that set; with none of them the
// plain loops below are the reference that the others are proven bit-identical to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(ETHEREAL_AVX2) || defined(ETHEREAL_AVX512)
#include <immintrin.h>
#elif defined(ETHEREAL_NEON)
#include <arm_neon.h>
#endif

namespace ethereal {

#if defined(ETHEREAL_AVX512)

struct LanesAvx512 {
    using Bytes = __m512i;
    static constexpr size_t kWidth = 64;
    static Bytes load(const void* p) { return _mm512_loadu_si512(p); }
    static void store(void* p, Bytes a) { _mm512_storeu_si512(p, a); }
    static Bytes fill8(int8_t x) { return _mm512_set1_epi8(x); }
    static Bytes fill16(int16_t x) { return _mm512_set1_epi16(x); }
    static Bytes fill64(uint64_t x) { return _mm512_set1_epi64(int64_t(x)); }
    static Bytes add8(Bytes a, Bytes b) { return _mm512_add_epi8(a, b); }
    static Bytes add16(Bytes a, Bytes b) { return _mm512_add_epi16(a, b); }
    static Bytes adds8(Bytes a, Bytes b) { return _mm512_adds_epi8(a, b); }
    static Bytes subs8(Bytes a, Bytes b) { return _mm512_subs_epi8(a, b); }
    static Bytes gt8(Bytes a, Bytes b) { return _mm512_movm_epi8(_mm512_cmpgt_epi8_mask(a, b)); }
    static Bytes either(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
    static Bytes both(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
    static Bytes without(Bytes a, Bytes b) { return _mm512_andnot_si512(b, a); }  // a & ~b
    static uint64_t signs8(Bytes a) { return _mm512_movepi8_mask(a); }
    // bit i: 16-bit lane i of a > lane i of b; kWidth / 2 bits
    static uint64_t gt16(Bytes a, Bytes b) { return _mm512_cmpgt_epi16_mask(a, b); }
    // bit i: 64-bit lane i is zero; kWidth / 8 bits
    static uint64_t zero64(Bytes a) { return _mm512_testn_epi64_mask(a, a); }
    // byte i is 0xFF where bit i is set, else 0
    static Bytes spread(uint64_t bits) { return _mm512_movm_epi8(bits); }
};
using Lanes = LanesAvx512;

#elif defined(ETHEREAL_AVX2)

struct LanesAvx2 {
    using Bytes = __m256i;
    static constexpr size_t kWidth = 32;
    static Bytes load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
    static void store(void* p, Bytes a) { _mm256_storeu_si256(static_cast<__m256i*>(p), a); }
    static Bytes fill8(int8_t x) { return _mm256_set1_epi8(x); }
    static Bytes fill16(int16_t x) { return _mm256_set1_epi16(x); }
    static Bytes fill64(uint64_t x) { return _mm256_set1_epi64x(int64_t(x)); }
    static Bytes add8(Bytes a, Bytes b) { return _mm256_add_epi8(a, b); }
    static Bytes add16(Bytes a, Bytes b) { return _mm256_add_epi16(a, b); }
    static Bytes adds8(Bytes a, Bytes b) { return _mm256_adds_epi8(a, b); }
    static Bytes subs8(Bytes a, Bytes b) { return _mm256_subs_epi8(a, b); }
    static Bytes gt8(Bytes a, Bytes b) { return _mm256_cmpgt_epi8(a, b); }
    static Bytes either(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
    static Bytes both(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
    static Bytes without(Bytes a, Bytes b) { return _mm256_andnot_si256(b, a); }
    static uint64_t signs8(Bytes a) { return uint32_t(_mm256_movemask_epi8(a)); }
    static uint64_t gt16(Bytes a, Bytes b) {
        const __m256i m = _mm256_cmpgt_epi16(a, b);
        const __m128i packed = _mm_packs_epi16(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
        return uint32_t(_mm_movemask_epi8(packed));
    }
    static uint64_t zero64(Bytes a) {
        const __m256i m = _mm256_cmpeq_epi64(a, _mm256_setzero_si256());
        return uint32_t(_mm256_movemask_pd(_mm256_castsi256_pd(m)));
    }
    static Bytes spread(uint64_t bits) {
        const __m256i which =
            _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
        const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201ull));
        const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(int32_t(uint32_t(bits))), which);
        return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    }
};
using Lanes = LanesAvx2;

#elif defined(ETHEREAL_NEON)

struct LanesNeon {
    using Bytes = int8x16_t;
    static constexpr size_t kWidth = 16;
    static Bytes load(const void* p) { return vld1q_s8(static_cast<const int8_t*>(p)); }
    static void store(void* p, Bytes a) { vst1q_s8(static_cast<int8_t*>(p), a); }
    static Bytes fill8(int8_t x) { return vdupq_n_s8(x); }
    static Bytes fill16(int16_t x) { return vreinterpretq_s8_s16(vdupq_n_s16(x)); }
    static Bytes fill64(uint64_t x) { return vreinterpretq_s8_u64(vdupq_n_u64(x)); }
    static Bytes add8(Bytes a, Bytes b) { return vaddq_s8(a, b); }
    static Bytes add16(Bytes a, Bytes b) {
        return vreinterpretq_s8_s16(vaddq_s16(vreinterpretq_s16_s8(a), vreinterpretq_s16_s8(b)));
    }
    static Bytes adds8(Bytes a, Bytes b) { return vqaddq_s8(a, b); }
    static Bytes subs8(Bytes a, Bytes b) { return vqsubq_s8(a, b); }
    static Bytes gt8(Bytes a, Bytes b) { return vreinterpretq_s8_u8(vcgtq_s8(a, b)); }
    static Bytes either(Bytes a, Bytes b) { return vorrq_s8(a, b); }
    static Bytes both(Bytes a, Bytes b) { return vandq_s8(a, b); }
    static Bytes without(Bytes a, Bytes b) { return vbicq_s8(a, b); }
    static uint64_t signs8(Bytes a) {
        static const uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const uint8x16_t set = vandq_u8(vreinterpretq_u8_s8(vshrq_n_s8(a, 7)), vld1q_u8(kBit));
        return uint64_t(vaddv_u8(vget_low_u8(set))) | uint64_t(vaddv_u8(vget_high_u8(set))) << 8;
    }
    static uint64_t gt16(Bytes a, Bytes b) {
        static const uint16_t kBit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
        const uint16x8_t m = vcgtq_s16(vreinterpretq_s16_s8(a), vreinterpretq_s16_s8(b));
        return vaddvq_u16(vandq_u16(m, vld1q_u16(kBit)));
    }
    static uint64_t zero64(Bytes a) {
        const uint64x2_t m = vceqzq_u64(vreinterpretq_u64_s8(a));
        return (vgetq_lane_u64(m, 0) & 1) | (vgetq_lane_u64(m, 1) & 2);
    }
    static Bytes spread(uint64_t bits) {
        static const uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const uint8x16_t bytes = vcombine_u8(vdup_n_u8(uint8_t(bits)), vdup_n_u8(uint8_t(bits >> 8)));
        return vreinterpretq_s8_u8(vtstq_u8(bytes, vld1q_u8(kBit)));
    }
};
using Lanes = LanesNeon;

#else

struct LanesScalar {
    static constexpr size_t kWidth = 16;
    struct Bytes {
        int8_t b[kWidth];
    };
    template <class F>
    static Bytes each(F f) {
        Bytes r;
        for (size_t i = 0; i < kWidth; ++i) r.b[i] = int8_t(f(i));
        return r;
    }
    static int clamp(int x) { return x < -128 ? -128 : x > 127 ? 127 : x; }
    static Bytes load(const void* p) {
        Bytes r;
        std::memcpy(r.b, p, kWidth);
        return r;
    }
    static void store(void* p, Bytes a) { std::memcpy(p, a.b, kWidth); }
    static Bytes fill8(int8_t x) {
        return each([&](size_t) { return x; });
    }
    template <class T>
    static Bytes fill(T x) {
        Bytes r;
        for (size_t i = 0; i < kWidth; i += sizeof x) std::memcpy(r.b + i, &x, sizeof x);
        return r;
    }
    static Bytes fill16(int16_t x) { return fill(x); }
    static Bytes fill64(uint64_t x) { return fill(x); }
    static Bytes add8(Bytes a, Bytes b) {
        return each([&](size_t i) { return uint8_t(a.b[i]) + uint8_t(b.b[i]); });
    }
    static Bytes add16(Bytes a, Bytes b) {
        Bytes r;
        for (size_t i = 0; i < kWidth; i += 2) {
            uint16_t x, y;
            std::memcpy(&x, a.b + i, 2);
            std::memcpy(&y, b.b + i, 2);
            x = uint16_t(x + y);
            std::memcpy(r.b + i, &x, 2);
        }
        return r;
    }
    static Bytes adds8(Bytes a, Bytes b) {
        return each([&](size_t i) { return clamp(a.b[i] + b.b[i]); });
    }
    static Bytes subs8(Bytes a, Bytes b) {
        return each([&](size_t i) { return clamp(a.b[i] - b.b[i]); });
    }
    static Bytes gt8(Bytes a, Bytes b) {
        return each([&](size_t i) { return a.b[i] > b.b[i] ? -1 : 0; });
    }
    static Bytes either(Bytes a, Bytes b) {
        return each([&](size_t i) { return a.b[i] | b.b[i]; });
    }
    static Bytes both(Bytes a, Bytes b) {
        return each([&](size_t i) { return a.b[i] & b.b[i]; });
    }
    static Bytes without(Bytes a, Bytes b) {
        return each([&](size_t i) { return a.b[i] & ~b.b[i]; });
    }
    static uint64_t signs8(Bytes a) {
        uint64_t m = 0;
        for (size_t i = 0; i < kWidth; ++i) m |= uint64_t(a.b[i] < 0) << i;
        return m;
    }
    static uint64_t gt16(Bytes a, Bytes b) {
        uint64_t m = 0;
        for (size_t i = 0; i < kWidth / 2; ++i) {
            int16_t x, y;
            std::memcpy(&x, a.b + 2 * i, 2);
            std::memcpy(&y, b.b + 2 * i, 2);
            m |= uint64_t(x > y) << i;
        }
        return m;
    }
    static uint64_t zero64(Bytes a) {
        uint64_t m = 0;
        for (size_t i = 0; i < kWidth / 8; ++i) {
            uint64_t x;
            std::memcpy(&x, a.b + 8 * i, 8);
            m |= uint64_t(x == 0) << i;
        }
        return m;
    }
    static Bytes spread(uint64_t bits) {
        return each([&](size_t i) { return (bits >> i) & 1 ? -1 : 0; });
    }
};
using Lanes = LanesScalar;

#endif

}  // namespace ethereal
