#include "pruner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "bits.hpp"

namespace ethereal {

namespace {

// Rounding could make a clause go to and fro for ever.
constexpr int kMovesPerVisit = 1000;

}  // namespace

double vote_cost(int32_t vote, const SizeModel& size) {
    if (vote == 0) return 0;
    double cost = size.vote;
    for (int64_t left = std::abs(int64_t(vote)); left > 1; left >>= 1) cost += size.doubling;
    return cost;
}

Pruner::Pruner(std::unique_ptr<ClauseRows> rows, size_t n_classes, const int32_t* features,
               const std::vector<int32_t>& literals, const std::vector<int64_t>& offsets,
               const int32_t* votes, double scale, uint64_t seed, std::vector<int8_t> signs)
    : rows_(std::move(rows)),
      n_rows_(rows_->n_rows),
      n_classes_(n_classes),
      scale_(scale),
      seed_(seed),
      features_(features, features + rows_->n_booleans),
      signs_(std::move(signs)) {
    for (size_t j = 0; j + 1 < offsets.size(); ++j, votes += n_classes) {
        if (offsets[j] == offsets[j + 1]) continue;  // an empty clause never votes
        Clause clause{{literals.begin() + offsets[j], literals.begin() + offsets[j + 1]},
                      {votes, votes + n_classes},
                      {},
                      {}};
        clause.rows = rows_->firing(clause.literals);
        clauses_.push_back(std::move(clause));
    }
    merge_and_count();
    find_states();
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

// The sign that a clause with these literals must vote with, 0 for any, 2 where they do not agree.
int Pruner::sign_of(const std::vector<int32_t>& literals) const {
    int sign = 0;
    if (signs_.empty()) return sign;
    for (int32_t l : literals) {
        const int own = signs_[size_t(l)];
        if (own == 0) continue;
        if (sign == -own) return 2;
        sign = own;
    }
    return sign;
}

bool Pruner::may_vote(const std::vector<int32_t>& literals, const std::vector<int32_t>& votes) const {
    const int sign = sign_of(literals);
    return sign == 0 || std::all_of(votes.begin(), votes.end(), [&](int32_t v) {
               return v == 0 || (sign != 2 && (v > 0) == (sign > 0));
           });
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
        std::vector<int32_t> votes = first.votes;
        for (size_t c = 0; c < n_classes_; ++c) votes[c] += clause.votes[c];
        const bool is_shorter = clause.literals.size() < first.literals.size();
        std::vector<int32_t>& better = is_shorter ? clause.literals : first.literals;
        std::vector<int32_t>& other = is_shorter ? first.literals : clause.literals;
        if (!may_vote(better, votes) && !may_vote(other, votes)) {  // they stay two
            kept.push_back(std::move(clause));
            continue;
        }
        std::vector<int32_t>& literals = may_vote(better, votes) ? better : other;
        if (&literals != &first.literals) {
            first.literals = std::move(literals);
            first.kept_off = std::move(clause.kept_off);
        }
        first.votes = std::move(votes);
    }
    clauses_.clear();
    uses_.assign(rows_->n_booleans, 0);
    for (Clause& clause : kept) {
        if (std::all_of(clause.votes.begin(), clause.votes.end(), [](int32_t v) { return v == 0; })) continue;
        if (!may_vote(clause.literals, clause.votes)) continue;  // as it was given
        for (int32_t l : clause.literals) ++uses_[boolean(l)];
        clauses_.push_back(std::move(clause));
    }
}

double Pruner::saved_by_removal(const Clause& clause, const SizeModel& size) const {
    double saved = size.clause + size.literal * double(clause.literals.size());
    for (int32_t l : clause.literals) saved += uses_[boolean(l)] == 1 ? size.boolean : 0;
    for (int32_t v : clause.votes) saved += vote_cost(v, size);
    return saved;
}

void Pruner::remove(Clause& clause) {
    add_votes(clause.rows, clause.votes, -1);
    for (int32_t l : clause.literals) --uses_[boolean(l)];
    clause.rows.clear();  // merge_and_count() lets it go
}

uint64_t Pruner::sweep(double price, const SizeModel& size, const std::function<bool()>& interrupted) {
    begin_sweep();
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
