#include "softmax_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "log_product.hpp"
#include "widest.hpp"

namespace ethereal {

namespace {

// exp(x) - 1 within bounds, so that absurd votes do not make infinities.
double excess_of(double x) { return std::expm1(std::min(std::max(x, -300.0), 300.0)); }

constexpr double kRounding = 1e-9;  // of a bound on a gain

// With more classes than this, sums of a whole row are kept in the cache. With fewer, those of a block of
// classes are kept in registers. Each class is added up in the order of the rows either way.
constexpr size_t kManyClasses = 24;

ETHEREAL_WIDEST void add_row(const float* row, size_t n, double* sums) {
    for (size_t c = 0; c < n; ++c) sums[c] += row[c];
}

ETHEREAL_WIDEST void add_row_and_curvature(const float* row, size_t n, double* sums, double* curvatures) {
    for (size_t c = 0; c < n; ++c) {
        sums[c] += row[c];
        curvatures[c] += row[c] * (1 - row[c]);
    }
}

ETHEREAL_WIDEST void multiply_row(float* row, size_t n, double factor) {
    for (size_t c = 0; c < n; ++c) row[c] = float(row[c] * factor);
}

// Of a logit: how far one move may change a vote. Newton's step says little about what lies farther away.
constexpr double kLeap = 1;

}  // namespace

SoftmaxPruner::SoftmaxPruner(std::unique_ptr<ClauseRows> rows, size_t n_classes, const float* targets,
                             const int32_t* features, const std::vector<int32_t>& literals,
                             const std::vector<int64_t>& offsets, const int32_t* votes, double scale,
                             uint64_t seed)
    : Pruner(std::move(rows), n_classes, features, literals, offsets, votes, scale, seed),
      stride_((n_classes + kBlock - 1) / kBlock * kBlock),
      targets_(n_rows_ * stride_),
      shares_(n_rows_ * stride_),
      share_sums_(stride_),
      curvatures_(stride_) {
    for (size_t i = 0; i < n_rows_; ++i)
        std::copy_n(targets + i * n_classes, n_classes, targets_.begin() + ptrdiff_t(i * stride_));
}

void SoftmaxPruner::begin_sweep() {
    const std::vector<int32_t> every = class_sums();
    std::vector<double> powers(n_classes_);
    for (size_t i = 0; i < n_rows_; ++i) {
        const int32_t* sums = every.data() + i * n_classes_;
        const int32_t top = *std::max_element(sums, sums + n_classes_);
        double total = 0;
        for (size_t c = 0; c < n_classes_; ++c) total += powers[c] = std::exp(scale_ * (sums[c] - top));
        for (size_t c = 0; c < n_classes_; ++c) shares_[i * stride_ + c] = float(powers[c] / total);
    }
}

std::vector<SoftmaxPruner::Factor> SoftmaxPruner::factors(const std::vector<int32_t>& votes, int sign) const {
    std::vector<Factor> result;
    for (size_t c = 0; c < n_classes_; ++c)
        if (votes[c]) result.push_back({c, excess_of(scale_ * sign * votes[c])});
    return result;
}

// By what the votes multiply the sum that the softmax of a row is divided by.
double SoftmaxPruner::growth(uint32_t row, const std::vector<Factor>& factors) const {
    double result = 1;
    const float* shares = shares_.data() + row * stride_;
    for (const Factor& f : factors) result += shares[f.class_] * f.excess;
    return std::max(result, 1e-12);  // shares are rounded: they may sum to a little more than 1
}

void SoftmaxPruner::add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes,
                              int sign) {
    const std::vector<Factor> changes = factors(votes, sign);
    for (uint32_t i : rows) {
        const double scale = 1 / growth(i, changes);
        float* shares = shares_.data() + i * stride_;
        multiply_row(shares, n_classes_, scale);
        for (const Factor& f : changes) shares[f.class_] = float(shares[f.class_] * (1 + f.excess));
    }
}

void SoftmaxPruner::find_losses(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes,
                                int sign, std::vector<double>& losses) const {
    const std::vector<Factor> changes = factors(votes, sign);
    losses.resize(rows.size());
    for (size_t k = 0; k < rows.size(); ++k) losses[k] = growth(rows[k], changes);
    for (double& loss : losses) loss = quick_log(loss);
    for (size_t k = 0; k < rows.size(); ++k) {
        const float* targets = targets_.data() + rows[k] * stride_;
        double wanted = 0;
        for (const Factor& f : changes) wanted += double(targets[f.class_]) * votes[f.class_];
        losses[k] -= scale_ * sign * wanted;
    }
}

// Sum over rows of log(1 + share * excess). Products of eight rows at a time, side by side.
double SoftmaxPruner::log_growth(const std::vector<uint32_t>& rows, size_t class_, double excess) {
    constexpr size_t kLanes = 8, kMost = 8;         // factors of a lane before their product is looked at
    const size_t most = excess < 1e17 ? kMost : 1;  // 1e17^8 and 1e-12^8 are still numbers
    const size_t n = rows.size(), whole = n / kLanes * kLanes;
    column_.resize(n);
    for (size_t k = 0; k < n; ++k) column_[k] = shares_[rows[k] * stride_ + class_];
    LogProduct product;
    for (size_t k = 0; k < whole;) {
        double lanes[kLanes] = {1, 1, 1, 1, 1, 1, 1, 1};
        for (const size_t end = std::min(whole, k + most * kLanes); k < end; k += kLanes)
            for (size_t j = 0; j < kLanes; ++j) lanes[j] *= std::max(1 + column_[k + j] * excess, 1e-12);
        for (double lane : lanes) product *= lane;
    }
    for (size_t k = whole; k < n; ++k) product *= std::max(1 + column_[k] * excess, 1e-12);
    return product.value();
}

// Sums over rows of the shares of each class and of their variances.
void SoftmaxPruner::add_up_shares(const std::vector<uint32_t>& rows) {
    if (n_classes_ > kManyClasses) {
        std::fill(share_sums_.begin(), share_sums_.end(), 0.0);
        std::fill(curvatures_.begin(), curvatures_.end(), 0.0);
        for (uint32_t i : rows)
            add_row_and_curvature(shares_.data() + i * stride_, stride_, share_sums_.data(),
                                  curvatures_.data());
        return;
    }
    for (size_t from = 0; from < stride_; from += kBlock) {
        double sum[kBlock] = {}, curvature[kBlock] = {};
        for (uint32_t i : rows) {
            const float* share = shares_.data() + i * stride_ + from;
            for (size_t c = 0; c < kBlock; ++c) {
                sum[c] += share[c];
                curvature[c] += share[c] * (1 - share[c]);
            }
        }
        std::copy_n(sum, kBlock, share_sums_.begin() + ptrdiff_t(from));
        std::copy_n(curvature, kBlock, curvatures_.begin() + ptrdiff_t(from));
    }
}

void SoftmaxPruner::add_up_targets(Clause& clause) const {
    if (!clause.wanted.empty()) return;
    clause.wanted.resize(stride_);
    if (n_classes_ > kManyClasses) {
        for (uint32_t i : clause.rows) add_row(targets_.data() + i * stride_, stride_, clause.wanted.data());
        return;
    }
    for (size_t from = 0; from < stride_; from += kBlock) {
        double sum[kBlock] = {};
        for (uint32_t i : clause.rows) {
            const float* target = targets_.data() + i * stride_ + from;
            for (size_t c = 0; c < kBlock; ++c) sum[c] += target[c];
        }
        std::copy_n(sum, kBlock, clause.wanted.begin() + ptrdiff_t(from));
    }
}

// A class's sum that grows by x logits changes the loss by f(x), where f'(0) = shares - targets and f''(0) =
// curvature. Because |f'''| <= f'', f(x) is at least f'(0) x + f''(0) (exp(-|x|) - 1 + |x|). So most moves
// are known to be worse than another one before their loss is computed.
Pruner::Move SoftmaxPruner::best_vote_move(Clause& clause, double price, const SizeModel& size) {
    struct Option {
        double most;  // that it may gain
        int class_;
        int32_t change;
    };
    Move best;
    const auto offer = [&](double gain, int class_, int32_t change) {
        if (gain > best.gain) best = {gain, class_, change, true};
    };
    const double farthest = std::min(kLeap / scale_, 65536.0);
    add_up_shares(clause.rows);
    add_up_targets(clause);
    double wanted = 0;  // sum over rows and classes of target * vote
    int n_votes = 0;
    std::vector<Option> options;
    for (size_t c = 0; c < n_classes_; ++c) {
        const int32_t vote = clause.votes[c];
        wanted += clause.wanted[c] * vote;
        n_votes += vote != 0;
        const double slope = share_sums_[c] - clause.wanted[c];
        const double newton = -slope / (scale_ * std::max(curvatures_[c], 1e-9));
        const auto leap = int32_t(std::lround(std::min(std::max(newton, -farthest), farthest)));
        for (int32_t change : {1, -1, -vote, leap}) {
            if (change == 0) continue;
            const double x = scale_ * change;
            const double least = slope * x + curvatures_[c] * (std::expm1(-std::abs(x)) + std::abs(x));
            const double saved = vote_cost(vote, size) - vote_cost(vote + change, size);
            options.push_back({price * saved - least, int(c), change});
        }
    }
    LogProduct without;
    const std::vector<Factor> removal = factors(clause.votes, -1);
    for (uint32_t i : clause.rows) without *= growth(i, removal);
    offer(price * saved_by_removal(clause, size) - (without.value() + scale_ * wanted), -1, 0);
    std::sort(options.begin(), options.end(), [](const Option& a, const Option& b) {
        return a.most != b.most ? a.most > b.most
                                : std::pair(a.class_, a.change) < std::pair(b.class_, b.change);
    });
    for (const Option& option : options) {
        if (option.most <= best.gain - kRounding) break;
        const auto c = size_t(option.class_);
        const int32_t vote = clause.votes[c], change = option.change;
        const double loss =
            log_growth(clause.rows, c, excess_of(scale_ * change)) - scale_ * change * clause.wanted[c];
        offer(price * (vote_cost(vote, size) - vote_cost(vote + change, size)) - loss, option.class_, change);
    }
    if (best.class_ >= 0 && n_votes == 1 && clause.votes[size_t(best.class_)] + best.change == 0)
        best.class_ = -1;
    return best;
}

double SoftmaxPruner::loss() const {
    const std::vector<int32_t> every = class_sums();
    double result = 0;
    for (size_t i = 0; i < n_rows_; ++i) {
        const int32_t* sums = every.data() + i * n_classes_;
        const int32_t top = *std::max_element(sums, sums + n_classes_);
        double total = 0;
        for (size_t c = 0; c < n_classes_; ++c) {
            const double logit = scale_ * (sums[c] - top);
            total += std::exp(logit);
            result -= double(targets_[i * stride_ + c]) * logit;
        }
        result += std::log(total);
    }
    return result;
}

}  // namespace ethereal
