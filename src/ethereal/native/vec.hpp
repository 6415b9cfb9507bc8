// One vector of bits, `kWords` words of 64, for the instruction set that the including file is compiled for.
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

#if defined(__AVX512BW__)
struct Vec {
    static constexpr int kWords = 8;
    __m512i v;
};
ETHEREAL_INLINE Vec load(const u64* p) { return {_mm512_loadu_si512(p)}; }
ETHEREAL_INLINE void store(u64* p, Vec a) { _mm512_storeu_si512(p, a.v); }
ETHEREAL_INLINE Vec zero() { return {_mm512_setzero_si512()}; }
ETHEREAL_INLINE Vec ones() { return {_mm512_set1_epi64(-1)}; }
ETHEREAL_INLINE Vec operator&(Vec a, Vec b) { return {_mm512_and_si512(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator|(Vec a, Vec b) { return {_mm512_or_si512(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator^(Vec a, Vec b) { return {_mm512_xor_si512(a.v, b.v)}; }
ETHEREAL_INLINE Vec andnot(Vec a, Vec b) {
    return {_mm512_ternarylogic_epi64(a.v, b.v, b.v, 0x30)};
}  // a AND NOT b
ETHEREAL_INLINE Vec parity(Vec a, Vec b, Vec c) { return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0x96)}; }
ETHEREAL_INLINE Vec majority(Vec a, Vec b, Vec c) { return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0xe8)}; }

#elif defined(__AVX2__)
struct Vec {
    static constexpr int kWords = 4;
    __m256i v;
};
ETHEREAL_INLINE Vec load(const u64* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
ETHEREAL_INLINE void store(u64* p, Vec a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v); }
ETHEREAL_INLINE Vec zero() { return {_mm256_setzero_si256()}; }
ETHEREAL_INLINE Vec ones() { return {_mm256_set1_epi64x(-1)}; }
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
};
ETHEREAL_INLINE Vec load(const u64* p) { return {vld1q_u64(p)}; }
ETHEREAL_INLINE void store(u64* p, Vec a) { vst1q_u64(p, a.v); }
ETHEREAL_INLINE Vec zero() { return {vdupq_n_u64(0)}; }
ETHEREAL_INLINE Vec ones() { return {vdupq_n_u64(~u64{0})}; }
ETHEREAL_INLINE Vec operator&(Vec a, Vec b) { return {vandq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator|(Vec a, Vec b) { return {vorrq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec operator^(Vec a, Vec b) { return {veorq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec andnot(Vec a, Vec b) { return {vbicq_u64(a.v, b.v)}; }
ETHEREAL_INLINE Vec parity(Vec a, Vec b, Vec c) { return a ^ b ^ c; }
ETHEREAL_INLINE Vec majority(Vec a, Vec b, Vec c) { return {vbslq_u64((a ^ b).v, c.v, a.v)}; }

#else  // the reference: one word
struct Vec {
    static constexpr int kWords = 1;
    u64 v;
};
ETHEREAL_INLINE Vec load(const u64* p) { return {*p}; }
ETHEREAL_INLINE void store(u64* p, Vec a) { *p = a.v; }
ETHEREAL_INLINE Vec zero() { return {0}; }
ETHEREAL_INLINE Vec ones() { return {~u64{0}}; }
ETHEREAL_INLINE Vec operator&(Vec a, Vec b) { return {a.v & b.v}; }
ETHEREAL_INLINE Vec operator|(Vec a, Vec b) { return {a.v | b.v}; }
ETHEREAL_INLINE Vec operator^(Vec a, Vec b) { return {a.v ^ b.v}; }
ETHEREAL_INLINE Vec andnot(Vec a, Vec b) { return {a.v & ~b.v}; }
ETHEREAL_INLINE Vec parity(Vec a, Vec b, Vec c) { return a ^ b ^ c; }
ETHEREAL_INLINE Vec majority(Vec a, Vec b, Vec c) { return (a & b) | ((a ^ b) & c); }
#endif

// N vectors side by side: one step of a program then works on more rows, and its cost is shared.
template <int N>
struct Tile {
    static constexpr int kWords = N * Vec::kWords;
    Vec v[N];
};
#define ETHEREAL_TILE_OP(expression)                       \
    {                                                      \
        Tile<N> r;                                         \
        for (int i = 0; i < N; ++i) r.v[i] = (expression); \
        return r;                                          \
    }
template <int N>
ETHEREAL_INLINE Tile<N> load_tile(const u64* p) ETHEREAL_TILE_OP(load(p + i * Vec::kWords)) template <int N>
ETHEREAL_INLINE Tile<N> fill_tile(bool bit) ETHEREAL_TILE_OP(bit ? ones() : zero()) template <int N>
ETHEREAL_INLINE Tile<N> operator&(Tile<N> a, Tile<N> b) ETHEREAL_TILE_OP(a.v[i] & b.v[i]) template <int N>
ETHEREAL_INLINE Tile<N> operator|(Tile<N> a, Tile<N> b) ETHEREAL_TILE_OP(a.v[i] | b.v[i]) template <int N>
ETHEREAL_INLINE Tile<N> operator^(Tile<N> a, Tile<N> b) ETHEREAL_TILE_OP(a.v[i] ^ b.v[i]) template <int N>
ETHEREAL_INLINE Tile<N> andnot(Tile<N> a, Tile<N> b) ETHEREAL_TILE_OP(andnot(a.v[i], b.v[i])) template <int N>
ETHEREAL_INLINE Tile<N> parity(Tile<N> a, Tile<N> b, Tile<N> c)
    ETHEREAL_TILE_OP(parity(a.v[i], b.v[i], c.v[i])) template <int N>
    ETHEREAL_INLINE Tile<N> majority(Tile<N> a, Tile<N> b, Tile<N> c)
        ETHEREAL_TILE_OP(majority(a.v[i], b.v[i], c.v[i]))
#undef ETHEREAL_TILE_OP
            template <int N>
            ETHEREAL_INLINE void store_tile(u64* p, Tile<N> a) {
    for (int i = 0; i < N; ++i) store(p + i * Vec::kWords, a.v[i]);
}

}  // namespace
}  // namespace ethereal
