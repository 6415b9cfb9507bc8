// Bit counting that every compiler has.
#pragma once
#include <cstdint>
#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace ethereal {

inline uint32_t popcount(uint64_t x) {
#if defined(_MSC_VER) && defined(_M_X64)
    return uint32_t(__popcnt64(x));
#elif defined(_MSC_VER) || (defined(__x86_64__) && !defined(__POPCNT__))
    // No instruction for it may be used: count in pairs, fours and bytes.
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return uint32_t(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
#else
    return uint32_t(__builtin_popcountll(x));
#endif
}

inline uint32_t ctz(uint64_t x) {  // x must not be 0
#ifdef _MSC_VER
    unsigned long i;
    _BitScanForward64(&i, x);
    return i;
#else
    return uint32_t(__builtin_ctzll(x));
#endif
}

}  // namespace ethereal
