#include "pruner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "bits.hpp"
#include "log_product.hpp"

namespace ethereal {

namespace {

// exp(x) - 1 within bounds, so that absurd votes do not make infinities.
double excess_of(double x) { return std::expm1(std::min(std::max(x, -300.0), 300.0)); }

// Rounding could make a clause go to and fro for ever.
constexpr int kMovesPerVisit = 1000;

constexpr double kRounding = 1e-9;  // of a bound on a gain

// With more classes than this, sums of a whole row are kept in the cache. With fewer, those of a block of
// classes are kept in registers. Each class is added up in the order of the rows either way.
constexpr size_t kManyClasses = 24;

// Loops over the classes of a row use whatever vectors the processor has. Each class stands alone, so the
// bits are the same.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define ETHEREAL_WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define ETHEREAL_WIDEST
#endif

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
      stride_((n_classes + kBlock - 1) / kBlock * kBlock),
      scale_(scale),
      seed_(seed),
      targets_(n_rows_ * stride_),
      shares_(n_rows_ * stride_),
      features_(features, features + planes_.n_booleans),
      share_sums_(stride_),
      curvatures_(stride_) {
    for (size_t i = 0; i < n_rows_; ++i)
        std::copy_n(targets + i * n_classes, n_classes, targets_.begin() + ptrdiff_t(i * stride_));
    for (size_t j = 0; j + 1 < offsets.size(); ++j, votes += n_classes) {
        if (offsets[j] == offsets[j + 1]) continue;  // an empty clause never votes
        Clause clause{{literals.begin() + offsets[j], literals.begin() + offsets[j + 1]},
                      {votes, votes + n_classes},
                      {},
                      {}};
        clause.rows = firing_rows(clause.literals);
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

// Moves change the shares alone, because sums at random places of memory would cost as much again.
std::vector<int32_t> Pruner::class_sums() const {
    std::vector<int32_t> sums(n_rows_ * n_classes_);
    for (const Clause& clause : clauses_)
        for (size_t c = 0; c < n_classes_; ++c)
            if (clause.votes[c])
                for (uint32_t i : clause.rows) sums[i * n_classes_ + c] += clause.votes[c];
    return sums;
}

void Pruner::refresh_shares() {
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
    const float* shares = shares_.data() + row * stride_;
    for (const Factor& f : factors) result += shares[f.class_] * f.excess;
    return std::max(result, 1e-12);  // shares are rounded: they may sum to a little more than 1
}

void Pruner::add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign) {
    const std::vector<Factor> changes = factors(votes, sign);
    for (uint32_t i : rows) {
        const double scale = 1 / growth(i, changes);
        float* shares = shares_.data() + i * stride_;
        multiply_row(shares, n_classes_, scale);
        for (const Factor& f : changes) shares[f.class_] = float(shares[f.class_] * (1 + f.excess));
    }
}

double Pruner::saved_by_removal(const Clause& clause, const SizeModel& size) const {
    double saved = size.clause + size.literal * double(clause.literals.size());
    for (int32_t l : clause.literals) saved += uses_[boolean(l)] == 1 ? size.boolean : 0;
    for (int32_t v : clause.votes) saved += vote_cost(v, size);
    return saved;
}

// Sum over rows of log(1 + share * excess). Products of eight rows at a time, side by side.
double Pruner::log_growth(const std::vector<uint32_t>& rows, size_t class_, double excess) {
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
void Pruner::add_up_shares(const std::vector<uint32_t>& rows) {
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

void Pruner::add_up_targets(Clause& clause) const {
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
Pruner::Move Pruner::best_vote_move(Clause& clause, double price, const SizeModel& size) {
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
            if (!change_one_literal(clause, price, size)) break;
    }
    merge_and_count();
    return moves;
}

double Pruner::loss() const {
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
