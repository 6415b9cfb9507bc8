// Counter-based random numbers: a draw depends on (seed, epoch, class, event) and on nothing else, so that
// the result of training is the same for every number of threads and every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ethereal {

inline uint64_t mix(uint64_t x) {  // the finalizer of SplitMix64: a bijection that scatters every bit
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

class Stream {
public:
    Stream(uint64_t seed, uint64_t a, uint64_t b) : state_(mix(mix(mix(seed) + a) + b)) {}
    uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ull); }
    // uniform on 0..n-1 for n < 2^32; the bias is below n / 2^32
    uint32_t below(uint32_t n) { return uint32_t(((next() >> 32) * n) >> 32); }
    double uniform() { return double(next() >> 11) * 0x1.0p-53; }

private:
    uint64_t state_;
};

}  // namespace ethereal
