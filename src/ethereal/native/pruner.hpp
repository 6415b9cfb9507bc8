// Makes a machine smaller for given rows: integer coordinate descent on
//
//     sum over rows of cross-entropy(target, softmax(scale * class sums))  +  price * size of the clauses.
//
// A sweep visits the clauses in random order and makes the best of these moves when it pays: drop the clause,
// raise or lower one of its votes by one or by Newton's step, set one to zero; then, as long as it pays: drop
// one of its literals, move one to another Boolean of the same raw feature (to another threshold). The change
// of the loss is computed exactly, on the rows that the move concerns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "literal_planes.hpp"
#include "random.hpp"

namespace ethereal {

struct SizeModel {                                    // what the parts of a machine cost, in any one unit
    double clause, literal, boolean, vote, doubling;  // boolean: one in use; doubling: of a vote
};

class Pruner {
public:
    // literals, offsets, votes (clauses x classes) as in ethereal.Model; targets: rows x classes, sum 1 each;
    // features: the raw feature of each Boolean, ascending.
    Pruner(LiteralPlanes planes, size_t n_classes, const float* targets, const int32_t* features,
           const std::vector<int32_t>& literals, const std::vector<int64_t>& offsets, const int32_t* votes,
           double scale, uint64_t seed);

    // Returns the number of moves; stops early when `interrupted` says so.
    uint64_t sweep(double price, const SizeModel& size, const std::function<bool()>& interrupted);
    double loss() const;
    void read(std::vector<int32_t>& literals, std::vector<int64_t>& offsets,
              std::vector<int32_t>& votes) const;

private:
    struct Clause {
        std::vector<int32_t> literals;  // ascending
        std::vector<int32_t> votes;     // per class
        std::vector<uint32_t> rows;     // on which it fires, ascending
        std::vector<double> wanted;     // per class: sum of the targets of these rows, empty if not known
    };
    struct Factor {  // a change of one class's sum multiplies its share before normalization by 1 + excess
        size_t class_;
        double excess;
    };
    static constexpr size_t kBlock = 4;  // classes that are added up side by side
    // Gains of the objective below this are taken for rounding.
    static constexpr double kLeastGain = 1e-4;

    struct Move {
        double gain = kLeastGain;
        int class_ = -1;  // -1: the whole clause
        int32_t change = 0;
        bool found = false;
    };

    std::vector<uint32_t> firing_rows(const std::vector<int32_t>& literals) const;
    std::vector<int32_t> class_sums() const;  // rows x classes
    void refresh_shares();
    void merge_and_count();
    Move best_vote_move(Clause& clause, double price, const SizeModel& size);
    void add_up_shares(const std::vector<uint32_t>& rows);
    void add_up_targets(Clause& clause) const;
    double log_growth(const std::vector<uint32_t>& rows, size_t class_, double excess);
    bool change_one_literal(Clause& clause, double price, const SizeModel& size);
    bool drop_one_literal(Clause& clause, double price, const SizeModel& size);
    bool move_one_literal(Clause& clause, double price, const SizeModel& size);
    bool may_move(int32_t literal) const {
        return of_feature_[feature_of_boolean_[boolean(literal)]].n_states > 1;
    }
    void find_kept_off_rows(const Clause& clause);
    void find_losses(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign,
                     std::vector<double>& losses) const;
    void find_states();
    size_t boolean(int32_t literal) const { return size_t(literal) % planes_.n_booleans; }
    std::vector<Factor> factors(const std::vector<int32_t>& votes, int sign) const;
    double growth(uint32_t row, const std::vector<Factor>& factors) const;
    void add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign);
    void remove(Clause& clause);
    double saved_by_removal(const Clause& clause, const SizeModel& size) const;

    LiteralPlanes planes_;
    size_t n_rows_, n_classes_, stride_;  // stride: classes and zeros, a multiple of kBlock
    double scale_;
    uint64_t seed_, n_sweeps_ = 0;
    std::vector<float> targets_, shares_;  // rows x stride; shares: softmax of the class sums
    std::vector<int32_t> features_;        // per Boolean

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
    std::vector<double> share_sums_, curvatures_;  // of add_up_shares, per class
    std::vector<float> column_;                    // of log_growth: shares of one class on a clause's rows
    std::vector<std::vector<uint32_t>> kept_off_;  // per literal of a clause: rows on which it alone is false
    std::vector<std::vector<double>> losses_on_;   // what the clause's votes add to the loss of these rows
    std::vector<double> losses_off_, on_, off_;    // of move_one_literal
    std::vector<Clause> clauses_;
    std::vector<uint32_t> uses_;  // per Boolean: clauses that include it or its negation
};

}  // namespace ethereal
