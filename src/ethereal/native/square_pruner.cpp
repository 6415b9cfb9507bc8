#include "square_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ethereal {

SquarePruner::SquarePruner(std::unique_ptr<ClauseRows> rows, const double* targets, const int32_t* features,
                           const std::vector<int32_t>& literals, const std::vector<int64_t>& offsets,
                           const int32_t* votes, double scale, uint64_t seed, std::vector<int8_t> signs)
    : Pruner(std::move(rows), 1, features, literals, offsets, votes, scale, seed, std::move(signs)),
      targets_(targets, targets + n_rows_),
      target_total_(0),
      sums_(n_rows_),
      total_(0) {
    for (double target : targets_) target_total_ += target;
}

void SquarePruner::begin_sweep() {
    sums_ = class_sums();
    total_ = 0;
    for (int32_t sum : sums_) total_ += sum;
}

// A vote that changes by d changes the loss by -x * (sum of the residuals of the clause's rows) + x^2 * rows
// / 2, x = scale * d, and by less where the offset follows.
Pruner::Move SquarePruner::best_vote_move(Clause& clause, double price, const SizeModel& size) {
    Move best;
    const double rows = double(clause.rows.size());
    double residuals = 0;
    for (uint32_t i : clause.rows) residuals += targets_[i] - scale_ * double(sums_[i]);
    residuals -= rows * offset(total_);
    const double moving = rows * (1 - rows / double(n_rows_));  // rows, less what the offset takes
    const auto loss = [&](int32_t change) {
        const double x = scale_ * double(change);
        return 0.5 * x * x * moving - x * residuals;
    };
    const int32_t vote = clause.votes[0], sign = sign_of(clause.literals);
    const int32_t least = sign > 0 ? 0 : -kMostVote, most = sign < 0 ? 0 : kMostVote;
    const double removal = price * saved_by_removal(clause, size) - loss(-vote);
    if (removal > best.gain) best = {removal, -1, 0, true};
    const double newton = moving > 0 ? residuals / (scale_ * moving) : 0;
    const double farthest = std::min(std::max(double(vote) + newton, double(least)), double(most));
    const auto leap = int32_t(std::lround(farthest)) - vote;
    for (int32_t change : {1, -1, leap}) {
        const int32_t after = vote + change;
        if (change == 0 || after == 0 || after < least || after > most) continue;
        const double gain = price * (vote_cost(vote, size) - vote_cost(after, size)) - loss(change);
        if (gain > best.gain) best = {gain, 0, change, true};
    }
    return best;
}

void SquarePruner::find_losses(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign,
                               std::vector<double>& losses) const {
    const double x = scale_ * double(sign) * double(votes[0]), fixed = offset(total_);
    losses.resize(rows.size());
    for (size_t k = 0; k < rows.size(); ++k) {
        const double residual = targets_[rows[k]] - scale_ * double(sums_[rows[k]]) - fixed;
        losses[k] = 0.5 * x * x - x * residual;
    }
}

void SquarePruner::add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign) {
    const int32_t vote = sign * votes[0];
    for (uint32_t i : rows) sums_[i] += vote;
    total_ += int64_t(vote) * int64_t(rows.size());
}

double SquarePruner::loss() const {
    const std::vector<int32_t> sums = class_sums();
    int64_t total = 0;
    for (int32_t sum : sums) total += sum;
    const double fixed = offset(total);
    double result = 0;
    for (size_t i = 0; i < n_rows_; ++i) {
        const double residual = targets_[i] - scale_ * double(sums[i]) - fixed;
        result += 0.5 * residual * residual;
    }
    return result;
}

}  // namespace ethereal
