#include "pruner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "bits.hpp"
#include "log_product.hpp"

namespace ethereal {

namespace {

// exp(x) - 1 within bounds, so that absurd votes do not make infinities.
double excess_of(double x) { return std::expm1(std::min(std::max(x, -300.0), 300.0)); }

// Rounding could make a clause go to and fro for ever.
constexpr int kMovesPerVisit = 1000;

// Of a logit: how far one move may change a vote. Newton's step says little about what lies farther away.
constexpr double kLeap = 1;

double vote_cost(int32_t vote, const SizeModel& size) {
    if (vote == 0) return 0;
    double cost = size.vote;
    for (int64_t left = std::abs(int64_t(vote)); left > 1; left >>= 1) cost += size.doubling;
    return cost;
}

}  // namespace

Pruner::Pruner(LiteralPlanes planes, size_t n_classes, const float* targets, const int32_t* features,
               const std::vector<int32_t>& literals, const std::vector<int64_t>& offsets,
               const int32_t* votes, double scale, uint64_t seed)
    : planes_(std::move(planes)),
      n_rows_(planes_.n_rows),
      n_classes_(n_classes),
      scale_(scale),
      seed_(seed),
      targets_(n_rows_ * n_classes),
      shares_(n_rows_ * n_classes),
      sums_(n_rows_ * n_classes),
      features_(features, features + planes_.n_booleans) {
    for (size_t i = 0; i < n_rows_; ++i)
        for (size_t c = 0; c < n_classes; ++c) targets_[c * n_rows_ + i] = targets[i * n_classes + c];
    for (size_t j = 0; j + 1 < offsets.size(); ++j, votes += n_classes) {
        if (offsets[j] == offsets[j + 1]) continue;  // an empty clause never votes
        Clause clause{{literals.begin() + offsets[j], literals.begin() + offsets[j + 1]},
                      {votes, votes + n_classes},
                      {}};
        clause.rows = firing_rows(clause.literals);
        for (size_t c = 0; c < n_classes; ++c)
            for (uint32_t i : clause.rows) sums_[c * n_rows_ + i] += votes[c];
        clauses_.push_back(std::move(clause));
    }
    merge_and_count();
    find_states();
}

std::vector<uint32_t> Pruner::firing_rows(const std::vector<int32_t>& literals) const {
    std::vector<uint32_t> rows;
    for (size_t w = 0; w < planes_.n_words; ++w)
        for (uint64_t left = planes_.firing(literals, w); left; left &= left - 1)
            rows.push_back(uint32_t(64 * w + ctz(left)));
    return rows;
}

void Pruner::refresh_shares() {
    for (size_t i = 0; i < n_rows_; ++i) {
        int32_t top = sums_[i];
        for (size_t c = 1; c < n_classes_; ++c) top = std::max(top, sums_[c * n_rows_ + i]);
        double total = 0;
        for (size_t c = 0; c < n_classes_; ++c) total += std::exp(scale_ * (sums_[c * n_rows_ + i] - top));
        for (size_t c = 0; c < n_classes_; ++c)
            shares_[c * n_rows_ + i] = float(std::exp(scale_ * (sums_[c * n_rows_ + i] - top)) / total);
    }
}

// Clauses that fire on the same rows become one, with the fewest literals of them and the sum of the votes;
// those without a vote or a row are gone.
void Pruner::merge_and_count() {
    std::map<std::vector<uint32_t>, size_t> first_with;
    std::vector<Clause> kept;
    for (Clause& clause : clauses_) {
        if (clause.rows.empty()) continue;
        const auto [place, is_new] = first_with.try_emplace(clause.rows, kept.size());
        if (is_new) {
            kept.push_back(std::move(clause));
            continue;
        }
        Clause& first = kept[place->second];
        for (size_t c = 0; c < n_classes_; ++c) first.votes[c] += clause.votes[c];
        if (clause.literals.size() < first.literals.size()) first.literals = std::move(clause.literals);
    }
    clauses_.clear();
    uses_.assign(planes_.n_booleans, 0);
    for (Clause& clause : kept) {
        if (std::all_of(clause.votes.begin(), clause.votes.end(), [](int32_t v) { return v == 0; })) continue;
        for (int32_t l : clause.literals) ++uses_[boolean(l)];
        clauses_.push_back(std::move(clause));
    }
}

std::vector<Pruner::Factor> Pruner::factors(const std::vector<int32_t>& votes, int sign) const {
    std::vector<Factor> result;
    for (size_t c = 0; c < n_classes_; ++c)
        if (votes[c]) result.push_back({c, excess_of(scale_ * sign * votes[c])});
    return result;
}

// By what the votes multiply the sum that the softmax of a row is divided by.
double Pruner::growth(uint32_t row, const std::vector<Factor>& factors) const {
    double result = 1;
    for (const Factor& f : factors) result += shares_[f.class_ * n_rows_ + row] * f.excess;
    return std::max(result, 1e-12);  // shares are rounded: they may sum to a little more than 1
}

void Pruner::add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign) {
    const std::vector<Factor> changes = factors(votes, sign);
    for (uint32_t i : rows) {
        const double scale = 1 / growth(i, changes);
        for (size_t c = 0; c < n_classes_; ++c)
            shares_[c * n_rows_ + i] = float(shares_[c * n_rows_ + i] * scale);
        for (const Factor& f : changes) {
            float& share = shares_[f.class_ * n_rows_ + i];
            share = float(share * (1 + f.excess));
            sums_[f.class_ * n_rows_ + i] += sign * votes[f.class_];
        }
    }
}

double Pruner::saved_by_removal(const Clause& clause, const SizeModel& size) const {
    double saved = size.clause + size.literal * double(clause.literals.size());
    for (int32_t l : clause.literals) saved += uses_[boolean(l)] == 1 ? size.boolean : 0;
    for (int32_t v : clause.votes) saved += vote_cost(v, size);
    return saved;
}

// Sum over the shares in scratch_ of log(1 + share * excess). Products of eight rows at a time, side by side.
double Pruner::log_growth(double excess) const {
    constexpr size_t kLanes = 8, kMost = 8;         // factors of a lane before their product is looked at
    const size_t most = excess < 1e17 ? kMost : 1;  // 1e17^8 and 1e-12^8 are still numbers
    const size_t n = scratch_.size(), whole = n / kLanes * kLanes;
    LogProduct product;
    for (size_t k = 0; k < whole;) {
        double lanes[kLanes] = {1, 1, 1, 1, 1, 1, 1, 1};
        for (const size_t end = std::min(whole, k + most * kLanes); k < end; k += kLanes)
            for (size_t j = 0; j < kLanes; ++j) lanes[j] *= std::max(1 + scratch_[k + j] * excess, 1e-12);
        for (double lane : lanes) product *= lane;
    }
    for (size_t k = whole; k < n; ++k) product *= std::max(1 + scratch_[k] * excess, 1e-12);
    return product.value();
}

Pruner::Move Pruner::best_vote_move(const Clause& clause, double price, const SizeModel& size) const {
    Move best;
    const double farthest = std::min(kLeap / scale_, 65536.0);
    const auto offer = [&](double gain, int class_, int32_t change) {
        if (gain > best.gain) best = {gain, class_, change, true};
    };
    scratch_.resize(clause.rows.size());
    LogProduct without;
    const std::vector<Factor> removal = factors(clause.votes, -1);
    for (uint32_t i : clause.rows) without *= growth(i, removal);
    double wanted = 0;  // sum over rows and classes of target * vote
    int n_votes = 0;
    for (size_t c = 0; c < n_classes_; ++c) {
        const float *share = shares_.data() + c * n_rows_, *target = targets_.data() + c * n_rows_;
        double target_sum = 0, share_sum = 0, curvature = 0;
        for (size_t k = 0; k < clause.rows.size(); ++k) {
            const uint32_t i = clause.rows[k];
            const float own = scratch_[k] = share[i];
            target_sum += target[i];
            share_sum += own;
            curvature += own * (1 - own);
        }
        const int32_t vote = clause.votes[c];
        wanted += target_sum * vote;
        n_votes += vote != 0;
        const double newton = (target_sum - share_sum) / (scale_ * std::max(curvature, 1e-9));
        const auto leap = int32_t(std::lround(std::min(std::max(newton, -farthest), farthest)));
        for (int32_t change : {1, -1, -vote, leap}) {
            if (change == 0) continue;
            const double loss = log_growth(excess_of(scale_ * change)) - scale_ * change * target_sum;
            offer(price * (vote_cost(vote, size) - vote_cost(vote + change, size)) - loss, int(c), change);
        }
    }
    const double loss = without.value() + scale_ * wanted;
    offer(price * saved_by_removal(clause, size) - loss, -1, 0);
    if (best.class_ >= 0 && n_votes == 1 && clause.votes[size_t(best.class_)] + best.change == 0)
        best.class_ = -1;
    return best;
}

void Pruner::remove(Clause& clause) {
    add_votes(clause.rows, clause.votes, -1);
    for (int32_t l : clause.literals) --uses_[boolean(l)];
    clause.rows.clear();  // merge_and_count() lets it go
}

uint64_t Pruner::sweep(double price, const SizeModel& size, const std::function<bool()>& interrupted) {
    refresh_shares();
    std::vector<uint32_t> order(clauses_.size());
    std::iota(order.begin(), order.end(), 0u);
    Stream stream(seed_, n_sweeps_++, 0);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(uint32_t(i))]);
    uint64_t moves = 0;
    for (size_t i = 0; i < order.size(); ++i) {
        if (i % 64 == 0 && interrupted()) break;
        Clause& clause = clauses_[order[i]];
        const Move move = best_vote_move(clause, price, size);
        moves += move.found;
        if (move.found && move.class_ < 0) {
            remove(clause);
            continue;
        }
        if (move.found) {
            std::vector<int32_t> change(n_classes_);
            change[size_t(move.class_)] = move.change;
            add_votes(clause.rows, change, 1);
            clause.votes[size_t(move.class_)] += move.change;
        }
        for (int left = kMovesPerVisit; left > 0; --left, ++moves)
            if (!drop_one_literal(clause, price, size) && !move_one_literal(clause, price, size)) break;
    }
    merge_and_count();
    return moves;
}

double Pruner::loss() const {
    double result = 0;
    for (size_t i = 0; i < n_rows_; ++i) {
        int32_t top = sums_[i];
        for (size_t c = 1; c < n_classes_; ++c) top = std::max(top, sums_[c * n_rows_ + i]);
        double total = 0;
        for (size_t c = 0; c < n_classes_; ++c) {
            const double logit = scale_ * (sums_[c * n_rows_ + i] - top);
            total += std::exp(logit);
            result -= double(targets_[c * n_rows_ + i]) * logit;
        }
        result += std::log(total);
    }
    return result;
}

void Pruner::read(std::vector<int32_t>& literals, std::vector<int64_t>& offsets,
                  std::vector<int32_t>& votes) const {
    literals.clear();
    offsets.assign(1, 0);
    votes.clear();
    for (const Clause& clause : clauses_) {
        literals.insert(literals.end(), clause.literals.begin(), clause.literals.end());
        offsets.push_back(int64_t(literals.size()));
        votes.insert(votes.end(), clause.votes.begin(), clause.votes.end());
    }
}

}  // namespace ethereal
