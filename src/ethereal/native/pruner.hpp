// Makes a machine smaller for given rows: integer coordinate descent on
//
//     loss of the class sums on the rows  +  price * size of the clauses.
//
// A sweep visits the clauses in random order and makes the best of these moves when it pays: drop the clause,
// raise or lower one of its votes by one or by Newton's step, set one to zero; then, as long as it pays: drop
// one of its literals, move one to another Boolean of the same raw feature (to another threshold).
//
// This class keeps the clauses and moves literals. A subclass has the loss, and what a row's sums come to in
// it: softmax_pruner.hpp for classes, square_pruner.hpp for a number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "clause_rows.hpp"
#include "random.hpp"

namespace ethereal {

struct SizeModel {                                    // what the parts of a machine cost, in any one unit
    double clause, literal, boolean, vote, doubling;  // boolean: one in use; doubling: of a vote
};

class Pruner {
public:
    virtual ~Pruner() = default;
    Pruner(const Pruner&) = delete;
    Pruner& operator=(const Pruner&) = delete;

    // Returns the number of moves; stops early when `interrupted` says so.
    uint64_t sweep(double price, const SizeModel& size, const std::function<bool()>& interrupted);
    virtual double loss() const = 0;
    void read(std::vector<int32_t>& literals, std::vector<int64_t>& offsets,
              std::vector<int32_t>& votes) const;

protected:
    struct Clause {
        std::vector<int32_t> literals;  // ascending
        std::vector<int32_t> votes;     // per class
        std::vector<uint32_t> rows;     // on which it fires, ascending
        std::vector<double> wanted;     // of the loss: what the rows sum to, empty if not known
        // Per literal, the rows that it alone keeps the clause off. Kept over patches only, where finding
        // them takes long; empty if not known.
        std::vector<std::vector<uint32_t>> kept_off = {};
    };
    // Gains of the objective below this are taken for rounding.
    static constexpr double kLeastGain = 1e-4;

    struct Move {
        double gain = kLeastGain;
        int class_ = -1;  // -1: the whole clause
        int32_t change = 0;
        bool found = false;
    };

    // literals, offsets, votes (clauses x classes) as in ethereal.Model; features: the raw feature of each
    // Boolean, ascending; signs: of each literal, the sign that votes of its clauses must have, 0 for any, or
    // nothing where all may have any.
    Pruner(std::unique_ptr<ClauseRows> rows, size_t n_classes, const int32_t* features,
           const std::vector<int32_t>& literals, const std::vector<int64_t>& offsets, const int32_t* votes,
           double scale, uint64_t seed, std::vector<int8_t> signs = {});

    // What the loss does. `begin_sweep` comes first, and may be called again at any time.
    virtual void begin_sweep() = 0;
    virtual Move best_vote_move(Clause& clause, double price, const SizeModel& size) = 0;
    // What votes add to the loss of each of these rows.
    virtual void find_losses(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign,
                             std::vector<double>& losses) const = 0;
    virtual void add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes,
                           int sign) = 0;

    std::vector<int32_t> class_sums() const;  // rows x classes
    double saved_by_removal(const Clause& clause, const SizeModel& size) const;
    int sign_of(const std::vector<int32_t>& literals) const;  // 2: no vote suits all of them

    std::unique_ptr<ClauseRows> rows_;
    size_t n_rows_, n_classes_;
    double scale_;

private:
    void merge_and_count();
    bool may_vote(const std::vector<int32_t>& literals, const std::vector<int32_t>& votes) const;
    bool change_one_literal(Clause& clause, double price, const SizeModel& size);
    bool drop_one_literal(Clause& clause, double price, const SizeModel& size);
    bool move_one_literal(Clause& clause, double price, const SizeModel& size);
    bool may_move(int32_t literal) const {
        return of_feature_[feature_of_boolean_[boolean(literal)]].n_states > 1;
    }
    void find_kept_off_rows(Clause& clause);
    void find_states();
    size_t boolean(int32_t literal) const { return size_t(literal) % rows_->n_booleans; }
    void remove(Clause& clause);

    uint64_t seed_, n_sweeps_ = 0;
    std::vector<int32_t> features_;  // per Boolean
    std::vector<int8_t> signs_;      // per literal, or none

    // What the Booleans of a raw feature say together: a state. Literals of a feature are true in some of
    // them.
    struct Feature {
        int32_t begin, end;            // its Booleans
        size_t n_states;               // 1: the feature has one Boolean, nothing else is known of it
        std::vector<uint16_t> states;  // per row
        std::vector<uint8_t> truth;    // Booleans x states
    };
    std::vector<Feature> of_feature_;
    std::vector<uint32_t> feature_of_boolean_;     // index in of_feature_
    std::vector<std::vector<uint32_t>> kept_off_;  // per literal of a clause: rows on which it alone is false
    std::vector<std::vector<double>> losses_on_;   // what the clause's votes add to the loss of these rows
    std::vector<double> losses_off_, on_, off_;    // of move_one_literal
    std::vector<Clause> clauses_;
    std::vector<uint32_t> uses_;  // per Boolean: clauses that include it or its negation
};

// What a vote takes: nothing for none, and more for a larger one.
double vote_cost(int32_t vote, const SizeModel& size);

}  // namespace ethereal
