// The pruner's moves of literals: drop one, or move one to another Boolean of the same raw feature.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "pruner.hpp"

namespace ethereal {

void Pruner::find_states() {
    const auto n = int32_t(rows_->n_booleans);
    const LiteralPlanes* const planes = rows_->planes();
    feature_of_boolean_.resize(rows_->n_booleans);
    for (int32_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && features_[size_t(end)] == features_[size_t(begin)];) ++end;
        std::fill(feature_of_boolean_.begin() + begin, feature_of_boolean_.begin() + end,
                  uint32_t(of_feature_.size()));
        Feature feature{begin, end, 1, {}, {}};
        if (planes && end - begin > 1) {  // else there is no other Boolean to move a literal to
            std::vector<uint32_t> states(n_rows_);
            for (int32_t b = begin; b < end; ++b) {  // each Boolean parts the states of those before it
                std::vector<int64_t> parted(2 * feature.n_states, -1);
                feature.n_states = 0;
                for (uint32_t i = 0; i < n_rows_; ++i) {
                    int64_t& part = parted[2 * states[i] + planes->is_true(b, i)];
                    if (part < 0) part = int64_t(feature.n_states++);
                    states[i] = uint32_t(part);
                }
            }
            if (feature.n_states > UINT16_MAX)
                throw std::length_error("a feature has more than 65535 states");
            feature.states.assign(states.begin(), states.end());
            feature.truth.resize(size_t(end - begin) * feature.n_states);
            for (int32_t b = begin; b < end; ++b)
                for (uint32_t i = 0; i < n_rows_; ++i)
                    feature.truth[size_t(b - begin) * feature.n_states + states[i]] = planes->is_true(b, i);
        }
        of_feature_.push_back(std::move(feature));
    }
}

void Pruner::find_kept_off_rows(Clause& clause) {
    const size_t n = clause.literals.size();
    const bool is_known = !clause.kept_off.empty();
    if (is_known) kept_off_ = clause.kept_off;
    if (kept_off_.size() < n) kept_off_.resize(n);
    if (losses_on_.size() < n) losses_on_.resize(n);
    if (is_known) return;
    for (size_t k = 0; k < n; ++k) kept_off_[k].clear();
    rows_->find_kept_off(clause.literals, kept_off_);
    if (!rows_->planes()) clause.kept_off.assign(kept_off_.begin(), kept_off_.begin() + ptrdiff_t(n));
}

// Drops a literal, or else moves one. Returns whether that paid.
bool Pruner::change_one_literal(Clause& clause, double price, const SizeModel& size) {
    const std::vector<int32_t>& literals = clause.literals;
    // An empty clause would never fire.
    if (literals.size() == 1 && !may_move(literals[0])) return false;
    find_kept_off_rows(clause);
    for (size_t k = 0; k < literals.size(); ++k) find_losses(kept_off_[k], clause.votes, 1, losses_on_[k]);
    return drop_one_literal(clause, price, size) || move_one_literal(clause, price, size);
}

bool Pruner::drop_one_literal(Clause& clause, double price, const SizeModel& size) {
    if (clause.literals.size() < 2) return false;
    double best_gain = kLeastGain;
    size_t best = clause.literals.size();
    for (size_t k = 0; k < clause.literals.size(); ++k) {
        const double loss = std::accumulate(losses_on_[k].begin(), losses_on_[k].end(), 0.0);
        const double saved = size.literal + (uses_[boolean(clause.literals[k])] == 1 ? size.boolean : 0);
        const double gain = price * saved - loss;
        if (gain > best_gain) best_gain = gain, best = k;
    }
    if (best == clause.literals.size()) return false;
    const std::vector<uint32_t>& more = kept_off_[best];
    add_votes(more, clause.votes, 1);
    --uses_[boolean(clause.literals[best])];
    clause.literals.erase(clause.literals.begin() + ptrdiff_t(best));
    const auto middle = ptrdiff_t(clause.rows.size());
    clause.rows.insert(clause.rows.end(), more.begin(), more.end());
    std::inplace_merge(clause.rows.begin(), clause.rows.begin() + middle, clause.rows.end());
    clause.wanted.clear();
    clause.kept_off.clear();
    return true;
}

bool Pruner::move_one_literal(Clause& clause, double price, const SizeModel& size) {
    if (std::none_of(clause.literals.begin(), clause.literals.end(),
                     [&](int32_t literal) { return may_move(literal); }))
        return false;
    const auto n = int32_t(rows_->n_booleans);
    find_losses(clause.rows, clause.votes, -1, losses_off_);
    double best_gain = kLeastGain;
    size_t best = clause.literals.size();
    int32_t best_literal = 0;
    for (size_t k = 0; k < clause.literals.size(); ++k) {
        const auto b = int32_t(boolean(clause.literals[k]));
        const Feature& feature = of_feature_[feature_of_boolean_[size_t(b)]];
        if (feature.n_states == 1) continue;
        // Per state: loss when the clause fires on these rows too, or no more.
        on_.assign(feature.n_states, 0);
        off_.assign(feature.n_states, 0);
        for (size_t i = 0; i < kept_off_[k].size(); ++i)
            on_[feature.states[kept_off_[k][i]]] += losses_on_[k][i];
        for (size_t i = 0; i < clause.rows.size(); ++i)
            off_[feature.states[clause.rows[i]]] += losses_off_[i];
        for (int32_t other = feature.begin; other < feature.end; ++other) {
            const bool negated = clause.literals[k] >= n;
            const int32_t literal = negated ? n + other : other;
            if (std::binary_search(clause.literals.begin(), clause.literals.end(), literal)) continue;
            if (!may_vote({literal}, clause.votes)) continue;
            double gain = price * ((uses_[size_t(b)] == 1 ? size.boolean : 0) -
                                   (uses_[size_t(other)] == 0 ? size.boolean : 0));
            const uint8_t* truth = feature.truth.data() + size_t(other - feature.begin) * feature.n_states;
            for (size_t state = 0; state < feature.n_states; ++state)
                gain -= bool(truth[state]) != negated ? on_[state] : off_[state];
            if (gain > best_gain) best_gain = gain, best = k, best_literal = literal;
        }
    }
    if (best == clause.literals.size()) return false;
    --uses_[boolean(clause.literals[best])];
    ++uses_[boolean(best_literal)];
    clause.literals.erase(clause.literals.begin() + ptrdiff_t(best));
    clause.literals.insert(std::lower_bound(clause.literals.begin(), clause.literals.end(), best_literal),
                           best_literal);
    add_votes(clause.rows, clause.votes, -1);
    clause.rows = rows_->firing(clause.literals);
    clause.wanted.clear();
    add_votes(clause.rows, clause.votes, 1);
    return true;
}

}  // namespace ethereal
