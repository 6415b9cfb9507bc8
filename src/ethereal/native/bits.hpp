// Bit counting that every compiler has.
#pragma once
#include <cstdint>
#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace ethereal {

inline uint32_t popcount(uint64_t x) {
#ifdef _MSC_VER
    return uint32_t(__popcnt64(x));
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
