#include "ridge.hpp"

#include <algorithm>
#include <cmath>

#include "widest.hpp"

namespace ethereal {

namespace {

constexpr double kNothing = 1e-100;  // the length of a column that is rounding alone
constexpr int kMostSweeps = 300;     // of the descent with signs
constexpr double kSettled = 1e-7;    // of the largest vote: a sweep that changes less is the last

ETHEREAL_WIDEST void add(double* to, const double* row, size_t n, double times) {
    for (size_t k = 0; k < n; ++k) to[k] += times * row[k];
}

ETHEREAL_WIDEST void add_two(double* to, const double* a, double by, const double* b, double times,
                             size_t n) {
    for (size_t k = 0; k < n; ++k) to[k] += by * a[k] + times * b[k];
}

double dot(const double* a, const double* b, size_t n) {
    double sums[4] = {};
    size_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (size_t j = 0; j < 4; ++j) sums[j] += a[k + j] * b[k + j];
    for (; k < n; ++k) sums[0] += a[k] * b[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

Ridge::Ridge(const uint8_t* outputs, size_t n_rows, size_t n_clauses, const double* weights)
    : n_rows_(n_rows),
      n_(n_clauses),
      offsets_(n_rows + 1),
      weights_(weights, weights + n_rows),
      weight_(0),
      means_(n_clauses),
      matrix_(n_clauses * n_clauses),
      wanted_(n_clauses),
      turned_(n_clauses) {
    for (size_t i = 0; i < n_rows; ++i) {
        for (size_t j = 0; j < n_; ++j)
            if (outputs[i * n_ + j]) places_.push_back(uint32_t(j));
        offsets_[i + 1] = places_.size();
        weight_ += weights_[i];
    }
    for (size_t i = 0; i < n_rows; ++i)
        for (size_t a = offsets_[i]; a < offsets_[i + 1]; ++a) {
            double* const row = matrix_.data() + places_[a] * n_;
            for (size_t b = a; b < offsets_[i + 1]; ++b) row[places_[b]] += weights_[i];
        }
    std::vector<double> totals(n_);
    for (size_t j = 0; j < n_; ++j) totals[j] = matrix_[j * n_ + j];
    take_means(totals);
}

Ridge::Ridge(const double* numbers, size_t n_rows, size_t n_columns, const double* weights)
    : n_rows_(n_rows),
      n_(n_columns),
      numbers_(numbers, numbers + n_rows * n_columns),
      offsets_(n_rows + 1),
      weights_(weights, weights + n_rows),
      weight_(0),
      means_(n_columns),
      matrix_(n_columns * n_columns),
      wanted_(n_columns),
      turned_(n_columns) {
    std::vector<double> totals(n_);
    for (size_t i = 0; i < n_rows; ++i) {
        const double* const row = numbers + i * n_;
        for (size_t j = 0; j < n_; ++j) {
            places_.push_back(uint32_t(j));
            totals[j] += weights_[i] * row[j];
            for (size_t k = j; k < n_; ++k) matrix_[j * n_ + k] += weights_[i] * row[j] * row[k];
        }
        offsets_[i + 1] = places_.size();
        weight_ += weights_[i];
    }
    take_means(totals);
}

void Ridge::take_means(const std::vector<double>& totals) {
    for (size_t j = 0; j < n_; ++j) means_[j] = totals[j] / weight_;
    for (size_t j = 0; j < n_; ++j)
        for (size_t k = j; k < n_; ++k) {
            const double centred = matrix_[j * n_ + k] - weight_ * means_[j] * means_[k];
            matrix_[j * n_ + k] = matrix_[k * n_ + j] = centred;
        }
    make_tridiagonal();
}

void Ridge::make_tridiagonal() {
    std::vector<double> a = matrix_, p(n_);
    reflectors_.assign(n_ * n_, 0);
    betas_.assign(n_, 0);
    diagonal_.assign(n_, 0);
    beside_.assign(n_, 0);
    for (size_t k = 0; k < n_; ++k) {
        diagonal_[k] = a[k * n_ + k];
        if (k + 1 >= n_) break;
        const size_t from = k + 1, m = n_ - from;
        const double* const column = a.data() + k * n_ + from;  // which is the row
        const double length = std::sqrt(dot(column, column, m));
        beside_[k] = length;
        if (!(length > kNothing)) {
            beside_[k] = 0;
            continue;
        }
        double* const v = reflectors_.data() + k * n_ + from;
        std::copy(column, column + m, v);
        const double end = v[0] > 0 ? -length : length;
        beside_[k] = end;
        v[0] -= end;
        const double beta = betas_[k] = 2 / dot(v, v, m);
        std::fill(p.begin(), p.begin() + ptrdiff_t(m), 0.0);
        for (size_t j = 0; j < m; ++j) add(p.data(), a.data() + (from + j) * n_ + from, m, beta * v[j]);
        add(p.data(), v, m, -0.5 * beta * dot(p.data(), v, m));
        for (size_t j = 0; j < m; ++j)
            add_two(a.data() + (from + j) * n_ + from, p.data(), -v[j], v, -p[j], m);
    }
}

void Ridge::aim(const double* targets) {
    double total = 0;
    for (size_t i = 0; i < n_rows_; ++i) total += weights_[i] * targets[i];
    mean_ = total / weight_;
    squares_ = 0;
    wanted_.assign(n_, 0);
    for (size_t i = 0; i < n_rows_; ++i) {
        const double above = targets[i] - mean_;
        squares_ += weights_[i] * above * above;
        for (size_t a = offsets_[i]; a < offsets_[i + 1]; ++a)
            wanted_[places_[a]] += weights_[i] * above * (numbers_.empty() ? 1.0 : numbers_[a]);
    }
    turned_ = wanted_;
    for (size_t k = 0; k + 1 < n_; ++k) {
        const double* const v = reflectors_.data() + k * n_ + k + 1;
        double* const end = turned_.data() + k + 1;
        add(end, v, n_ - k - 1, -betas_[k] * dot(v, end, n_ - k - 1));
    }
}

// (T + strength) z = turned, T the tridiagonal matrix.
std::vector<double> Ridge::solved(double strength) const {
    std::vector<double> pivot(n_), z = turned_;
    for (size_t k = 0; k < n_; ++k) {
        pivot[k] = diagonal_[k] + strength;
        if (k == 0) continue;
        const double factor = beside_[k - 1] / pivot[k - 1];
        pivot[k] -= factor * beside_[k - 1];
        z[k] -= factor * z[k - 1];
    }
    for (size_t k = n_; k-- > 0;) {
        if (k + 1 < n_) z[k] -= beside_[k] * z[k + 1];
        z[k] /= pivot[k];
    }
    return z;
}

Ridge::Fit Ridge::fit(double strength) const {
    const std::vector<double> z = solved(strength);
    double fitted = 0, explained = 0, inverse = 0;
    std::vector<double> before(n_), after(n_);  // pivots of both directions
    for (size_t k = 0; k < n_; ++k) {
        const double beside = k == 0 ? 0 : beside_[k - 1];
        before[k] = diagonal_[k] + strength - (k == 0 ? 0 : beside * beside / before[k - 1]);
        fitted += z[k] * z[k] * diagonal_[k] + (k == 0 ? 0 : 2 * z[k] * z[k - 1] * beside);
        explained += z[k] * turned_[k];
    }
    for (size_t k = n_; k-- > 0;) {
        const double beside = beside_[k];
        after[k] = diagonal_[k] + strength - (k + 1 == n_ ? 0 : beside * beside / after[k + 1]);
        inverse += 1 / (before[k] + after[k] - diagonal_[k] - strength);
    }
    return {std::max(0.0, squares_ - 2 * explained + fitted), double(n_) - strength * inverse};
}

std::vector<double> Ridge::votes(double strength) const {
    std::vector<double> z = solved(strength);
    for (size_t k = n_ < 1 ? 0 : n_ - 1; k-- > 0;) {
        const double* const v = reflectors_.data() + k * n_ + k + 1;
        double* const end = z.data() + k + 1;
        add(end, v, n_ - k - 1, -betas_[k] * dot(v, end, n_ - k - 1));
    }
    return z;
}

std::vector<double> Ridge::votes(double strength, const int8_t* signs) const {
    std::vector<double> found = votes(strength), slopes = wanted_;
    const auto within = [&](size_t j, double vote) {
        return signs[j] > 0 ? std::max(0.0, vote) : signs[j] < 0 ? std::min(0.0, vote) : vote;
    };
    bool fits = true;
    for (size_t j = 0; j < n_; ++j) fits = fits && within(j, found[j]) == found[j];
    if (fits) return found;
    for (size_t j = 0; j < n_; ++j) {
        found[j] = within(j, found[j]);
        if (found[j] == 0) continue;
        add(slopes.data(), matrix_.data() + j * n_, n_, -found[j]);
        slopes[j] -= strength * found[j];
    }
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
        double largest = 0, moved = 0;
        for (size_t j = 0; j < n_; ++j) {
            const double after = within(j, found[j] + slopes[j] / (matrix_[j * n_ + j] + strength));
            const double change = after - found[j];
            largest = std::max(largest, std::abs(after));
            if (change == 0) continue;
            moved = std::max(moved, std::abs(change));
            found[j] = after;
            add(slopes.data(), matrix_.data() + j * n_, n_, -change);
            slopes[j] -= strength * change;
        }
        if (moved <= kSettled * largest) break;
    }
    return found;
}

double Ridge::offset(const std::vector<double>& votes) const {
    double result = mean_;
    for (size_t j = 0; j < n_; ++j) result -= means_[j] * votes[j];
    return result;
}

}  // namespace ethereal
