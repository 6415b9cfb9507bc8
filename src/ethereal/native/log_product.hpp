#pragma once
#include <cmath>

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

}  // namespace ethereal
