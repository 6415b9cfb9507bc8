#include "vote_fitting.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ethereal {

namespace {

constexpr double kSmallGradient = 1e-4;  // of the first one, squared and scaled: no later step matters
constexpr int kMostSteps = 6;            // to the lowest point of a line
constexpr double kFlat = 0.1;            // of the first slope: near enough to it

// e**x for x <= 0, to float's precision, without a library whose last bit differs between machines.
inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    const int32_t n = int32_t(x * 1.44269504f - 0.5f);
    const float r = (x - float(n) * 0.693359375f) + float(n) * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    const int32_t bits = (n + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * b[i];
    return sum;
}

double scaled_dot(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& scale) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * b[i] * scale[i];
    return sum;
}

}  // namespace

VoteFitting::VoteFitting(const uint8_t* outputs, size_t n_rows, size_t n_clauses, const int32_t* labels,
                         const double* weights, size_t n_classes)
    : n_rows_(n_rows),
      n_clauses_(n_clauses),
      n_classes_(n_classes),
      n_lanes_((n_classes + 3) / 4 * 4),
      labels_(labels, labels + n_rows),
      weights_(weights, weights + n_rows),
      votes_(n_clauses * n_lanes_),
      gradient_(votes_.size()),
      direction_(votes_.size()),
      scale_(votes_.size()),
      sums_(n_rows * n_lanes_),
      change_(sums_.size()),
      errors_(sums_.size()) {
    of_row_.offsets.assign(n_rows + 1, 0);
    of_clause_.offsets.assign(n_clauses + 1, 0);
    for (size_t i = 0; i < n_rows; ++i) {
        for (size_t j = 0; j < n_clauses; ++j) {
            if (!outputs[i * n_clauses + j]) continue;
            of_row_.places.push_back(uint32_t(j));
            ++of_clause_.offsets[j + 1];
        }
        of_row_.offsets[i + 1] = of_row_.places.size();
    }
    for (size_t j = 0; j < n_clauses; ++j) of_clause_.offsets[j + 1] += of_clause_.offsets[j];
    of_clause_.places.resize(of_row_.places.size());
    std::vector<size_t> next(of_clause_.offsets.begin(), of_clause_.offsets.end() - 1);
    for (size_t i = 0; i < n_rows; ++i)
        for (size_t p = of_row_.offsets[i]; p < of_row_.offsets[i + 1]; ++p)
            of_clause_.places[next[of_row_.places[p]]++] = uint32_t(i);
}

// A few lanes at a time stay in registers. A lane is a class, so its sum has one order whatever the width.
template <size_t kWidth>
void VoteFitting::add_up(const Lists& lists, const std::vector<float>& from, std::vector<float>& to,
                         size_t lane) const {
    const uint32_t* const places = lists.places.data();
    const float* const base = from.data() + lane;
    for (size_t i = 0; i + 1 < lists.offsets.size(); ++i) {
        float sum[kWidth] = {};
        for (size_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
            const float* const own = base + places[p] * n_lanes_;
            for (size_t k = 0; k < kWidth; ++k) sum[k] += own[k];
        }
        std::copy(sum, sum + kWidth, to.begin() + ptrdiff_t(i * n_lanes_ + lane));
    }
}

void VoteFitting::add_up(const Lists& lists, const std::vector<float>& from, std::vector<float>& to) const {
    size_t lane = 0;
    for (; lane + 16 <= n_lanes_; lane += 16) add_up<16>(lists, from, to, lane);
    if (n_lanes_ - lane == 12) add_up<12>(lists, from, to, lane);
    if (n_lanes_ - lane == 8) add_up<8>(lists, from, to, lane);
    if (n_lanes_ - lane == 4) add_up<4>(lists, from, to, lane);
}

void VoteFitting::softmax(const float* sums, float* shares) const {
    float most = sums[0], total = 0;
    for (size_t k = 1; k < n_classes_; ++k) most = std::max(most, sums[k]);
    for (size_t k = 0; k < n_classes_; ++k) shares[k] = exponential(sums[k] - most);
    for (size_t k = 0; k < n_classes_; ++k) total += shares[k];
    const float part = 1.0f / total;
    for (size_t k = 0; k < n_classes_; ++k) shares[k] *= part;
}

void VoteFitting::find_gradient(double strength) {
    for (size_t i = 0; i < n_rows_; ++i) {
        float* const own = errors_.data() + i * n_lanes_;
        softmax(sums_.data() + i * n_lanes_, own);
        own[labels_[i]] -= 1.0f;
        for (size_t k = 0; k < n_classes_; ++k) own[k] *= weights_[i];
    }
    add_up(of_clause_, errors_, gradient_);
    for (size_t v = 0; v < votes_.size(); ++v) gradient_[v] = votes_[v] + float(strength) * gradient_[v];
}

// One over the second derivative by each vote.
void VoteFitting::find_preconditioner(double strength) {
    for (size_t i = 0; i < n_rows_; ++i) {
        float* const own = errors_.data() + i * n_lanes_;
        softmax(sums_.data() + i * n_lanes_, own);
        for (size_t k = 0; k < n_classes_; ++k) own[k] *= weights_[i] * (1.0f - own[k]);
    }
    add_up(of_clause_, errors_, scale_);
    for (float& s : scale_) s = 1.0f / (1.0f + float(strength) * s);
}

VoteFitting::Slope VoteFitting::slope(double strength, double step, const Slope& of_penalty) const {
    std::vector<float> sums(n_lanes_), shares(n_lanes_);
    Slope found{0, 0};
    for (size_t i = 0; i < n_rows_; ++i) {
        const float* const change = change_.data() + i * n_lanes_;
        for (size_t k = 0; k < n_classes_; ++k) sums[k] = sums_[i * n_lanes_ + k] + float(step) * change[k];
        softmax(sums.data(), shares.data());
        float mean = 0, square = 0;
        for (size_t k = 0; k < n_classes_; ++k) {
            mean += shares[k] * change[k];
            square += shares[k] * change[k] * change[k];
        }
        found.first += double(weights_[i]) * (mean - change[labels_[i]]);
        found.second += double(weights_[i]) * std::max(0.0f, square - mean * mean);
    }
    const double second = of_penalty.second + strength * found.second;
    return {of_penalty.first + step * of_penalty.second + strength * found.first, second};
}

// Newton's steps to the lowest point, halved where one goes behind what is known.
double VoteFitting::best_step(double strength, double first_slope) const {
    const Slope of_penalty{dot(votes_, direction_), dot(direction_, direction_)};
    double low = 0, high = HUGE_VAL, step = 0;
    for (int i = 0; i < kMostSteps; ++i) {
        const Slope here = slope(strength, step, of_penalty);
        if (i > 0 && std::abs(here.first) <= kFlat * std::abs(first_slope)) break;
        (here.first < 0 ? low : high) = step;
        if (!(here.second > 0)) break;
        step -= here.first / here.second;
        if (step <= low || step >= high) step = high < HUGE_VAL ? (low + high) / 2 : 2 * low;
    }
    return step;
}

void VoteFitting::fit(double strength, size_t iterations, const std::function<bool()>& interrupted) {
    std::fill(direction_.begin(), direction_.end(), 0.0f);
    add_up(of_row_, votes_, sums_);
    find_preconditioner(strength);
    double before = 0, first = 0;
    std::vector<float> old(votes_.size());
    for (size_t i = 0; i < iterations && !interrupted(); ++i) {
        std::swap(old, gradient_);
        find_gradient(strength);
        const double now = scaled_dot(gradient_, gradient_, scale_);
        if (i == 0) first = now;
        if (!(now > kSmallGradient * first)) break;
        // Conjugate gradients (Polak and Ribiere), begun anew where the direction would not go down.
        double keep = i == 0 ? 0 : std::max(0.0, (now - scaled_dot(gradient_, old, scale_)) / before);
        if (keep > 0 && keep * dot(gradient_, direction_) >= now) keep = 0;
        before = now;
        for (size_t v = 0; v < votes_.size(); ++v)
            direction_[v] = float(keep) * direction_[v] - scale_[v] * gradient_[v];
        add_up(of_row_, direction_, change_);
        const float step = float(best_step(strength, dot(gradient_, direction_)));
        for (size_t v = 0; v < votes_.size(); ++v) votes_[v] += step * direction_[v];
        for (size_t v = 0; v < sums_.size(); ++v) sums_[v] += step * change_[v];
    }
}

std::vector<float> VoteFitting::votes() const {
    std::vector<float> found;
    found.reserve(n_clauses_ * n_classes_);
    for (size_t j = 0; j < n_clauses_; ++j)
        for (size_t k = 0; k < n_classes_; ++k) found.push_back(votes_[j * n_lanes_ + k]);
    return found;
}

}  // namespace ethereal
