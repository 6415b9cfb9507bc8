#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ethereal {

// Sum of logarithms with one logarithm per many factors.
class LogProduct {
public:
    void operator*=(double factor) {
        product_ *= factor;
        if (product_ > 1e150 || product_ < 1e-150) {
            sum_ += std::log(product_);
            product_ = 1;
        }
    }
    double value() const { return sum_ + std::log(product_); }

private:
    double sum_ = 0, product_ = 1;
};

// The logarithm of a positive normal number within 1e-12, without a branch, so that compilers make loops of
// it side by side. With x = 2^n m and m from sqrt(1/2) to sqrt(2), log(m) is a series of (m - 1) / (m + 1).
inline double quick_log(double x) {
    constexpr uint64_t kHalf = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    // The exponent of x / sqrt(1/2), rounded down, as a double: 2^52 + 1023 + n, less 2^52 + 1023.
    const uint64_t raised = (bits - kHalf + 0x3ff0000000000000) >> 52;
    const uint64_t with_n = raised | 0x4330000000000000, of_m = bits - (raised << 52) + 0x3ff0000000000000;
    double n, m;
    std::memcpy(&n, &with_n, sizeof n);
    std::memcpy(&m, &of_m, sizeof m);
    n -= 4503599627371519.0;
    const double s = (m - 1) / (m + 1), q = s * s;
    const double series =
        1 +
        q * (1. / 3 + q * (1. / 5 + q * (1. / 7 + q * (1. / 9 + q * (1. / 11 + q * (1. / 13 + q / 15))))));
    return n * 0.6931471805599453 + 2 * s * series;
}

}  // namespace ethereal
