// Vectors of bits, `kWords` words of 64: one word, and the vector of the instruction set that the including
// file is compiled for.
//
// Everything is in an anonymous namespace on purpose: see cpu.hpp.
#pragma once

#include <cstdint>

#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(ETHEREAL_USE_NEON)
#include <arm_neon.h>
#endif

// Small pieces of hot loops: out of line they would pass vectors through memory.
#if defined(_MSC_VER)
#define ETHEREAL_INLINE __forceinline
#else
#define ETHEREAL_INLINE inline __attribute__((always_inline))
#endif

namespace ethereal {
namespace {

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;

// Asks for a cache line that is needed soon; does nothing for an address that is not there.
ETHEREAL_INLINE void prefetch(const void* p) {
#if defined(__AVX2__)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
#elif !defined(_MSC_VER)
    __builtin_prefetch(p, 0, 2);
#else
    (void)p;
#endif
}

// The reference of all others.
struct Word {
    static constexpr int kWords = 1;
    u64 v;
    static ETHEREAL_INLINE Word load(const u64* p) { return {*p}; }
    static ETHEREAL_INLINE Word fill(bool bit) { return {bit ? ~u64{0} : u64{0}}; }
    ETHEREAL_INLINE void store(u64* p) const { *p = v; }
};
ETHEREAL_INLINE Word operator&(Word a, Word b) { return {a.v & b.v}; }
ETHEREAL_INLINE Word operator|(Word a, Word b) { return {a.v | b.v}; }
ETHEREAL_INLINE Word operator^(Word a, Word b) { return {a.v ^ b.v}; }
ETHEREAL_INLINE Word andnot(Word a, Word b) { return {a.v & ~b.v}; }  // a AND NOT b
ETHEREAL_INLINE Word parity(Word a, Word b, Word c) { return a ^ b ^ c; }
ETHEREAL_INLINE Word majority(Word a, Word b, Word c) { return (a & b) | ((a ^ b) & c); }

#if defined(__AVX512BW__)
struct Vec {
    static constexpr int kWords = 8;
    __m512i v;
    static ETHEREAL_INLINE Vec load(const u64* p) { return {_mm512_loadu_si512(p)}; }
    static ETHEREAL_INLINE Vec fill(bool bit) { return {_mm512_set1_epi64(bit ? -1 : 0)}; }
    ETHEREAL_INLINE void store(u64* p) const { _mm512_storeu_si512(p, v); }
};
ETHEREAL_INLINE Vec operator&(Vec a, Vec b) { return {_mm512_and_si512(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator|(Vec a, Vec b) { return {_mm512_or_si512(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator^(Vec a, Vec b) { return {_mm512_xor_si512(a.v, b.v)}; }
// Any function of three bits: bit 4a + 2b + c of the constant is its value.
ETHEREAL_INLINE Vec andnot(Vec a, Vec b) { return {_mm512_ternarylogic_epi64(a.v, b.v, b.v, 0x30)}; }
ETHEREAL_INLINE Vec parity(Vec a, Vec b, Vec c) { return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0x96)}; }
ETHEREAL_INLINE Vec majority(Vec a, Vec b, Vec c) { return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0xe8)}; }

#elif defined(__AVX2__)
struct Vec {
    static constexpr int kWords = 4;
    __m256i v;
    static ETHEREAL_INLINE Vec load(const u64* p) {
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
    }
    static ETHEREAL_INLINE Vec fill(bool bit) { return {_mm256_set1_epi64x(bit ? -1 : 0)}; }
    ETHEREAL_INLINE void store(u64* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
};
ETHEREAL_INLINE Vec operator&(Vec a, Vec b) { return {_mm256_and_si256(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator|(Vec a, Vec b) { return {_mm256_or_si256(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator^(Vec a, Vec b) { return {_mm256_xor_si256(a.v, b.v)}; }
ETHEREAL_INLINE Vec andnot(Vec a, Vec b) { return {_mm256_andnot_si256(b.v, a.v)}; }
ETHEREAL_INLINE Vec parity(Vec a, Vec b, Vec c) { return a ^ b ^ c; }
ETHEREAL_INLINE Vec majority(Vec a, Vec b, Vec c) { return (a & b) | ((a ^ b) & c); }

#elif defined(ETHEREAL_USE_NEON)
struct Vec {
    static constexpr int kWords = 2;
    uint64x2_t v;
    static ETHEREAL_INLINE Vec load(const u64* p) { return {vld1q_u64(p)}; }
    static ETHEREAL_INLINE Vec fill(bool bit) { return {vdupq_n_u64(bit ? ~u64{0} : u64{0})}; }
    ETHEREAL_INLINE void store(u64* p) const { vst1q_u64(p, v); }
};
ETHEREAL_INLINE Vec operator&(Vec a, Vec b) { return {vandq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator|(Vec a, Vec b) { return {vorrq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator^(Vec a, Vec b) { return {veorq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec andnot(Vec a, Vec b) { return {vbicq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec parity(Vec a, Vec b, Vec c) { return a ^ b ^ c; }
ETHEREAL_INLINE Vec majority(Vec a, Vec b, Vec c) { return {vbslq_u64((a ^ b).v, c.v, a.v)}; }

#else
using Vec = Word;
#endif

// N vectors side by side: one step of a program then works on more rows, and its cost is shared.
template <class V, int N>
struct Tile {
    static constexpr int kWords = N * V::kWords;
    V v[N];
    static ETHEREAL_INLINE Tile load(const u64* p) {
        Tile r;
        for (int i = 0; i < N; ++i) r.v[i] = V::load(p + i * V::kWords);
        return r;
    }
    static ETHEREAL_INLINE Tile fill(bool bit) {
        Tile r;
        for (int i = 0; i < N; ++i) r.v[i] = V::fill(bit);
        return r;
    }
    ETHEREAL_INLINE void store(u64* p) const {
        for (int i = 0; i < N; ++i) v[i].store(p + i * V::kWords);
    }
};
#define ETHEREAL_TILE_OP(NAME, PARAMETERS, EXPRESSION)   \
    template <class V, int N>                            \
    ETHEREAL_INLINE Tile<V, N> NAME PARAMETERS {         \
        Tile<V, N> r;                                    \
        for (int i = 0; i < N; ++i) r.v[i] = EXPRESSION; \
        return r;                                        \
    }
#define ETHEREAL_TWO (Tile<V, N> a, Tile<V, N> b)
#define ETHEREAL_THREE (Tile<V, N> a, Tile<V, N> b, Tile<V, N> c)
ETHEREAL_TILE_OP(operator&, ETHEREAL_TWO, a.v[i] & b.v[i])
ETHEREAL_TILE_OP(operator|, ETHEREAL_TWO, a.v[i] | b.v[i])
ETHEREAL_TILE_OP(operator^, ETHEREAL_TWO, a.v[i] ^ b.v[i])
ETHEREAL_TILE_OP(andnot, ETHEREAL_TWO, andnot(a.v[i], b.v[i]))
ETHEREAL_TILE_OP(parity, ETHEREAL_THREE, parity(a.v[i], b.v[i], c.v[i]))
ETHEREAL_TILE_OP(majority, ETHEREAL_THREE, majority(a.v[i], b.v[i], c.v[i]))
#undef ETHEREAL_TILE_OP
#undef ETHEREAL_TWO
#undef ETHEREAL_THREE

}  // namespace
}  // namespace ethereal
