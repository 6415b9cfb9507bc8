// Votes of given clauses by logistic regression: they minimize
//
//     |votes|^2 / 2  +  strength * sum over rows of weight * cross-entropy(label, softmax(class sums)).
//
// Clauses fire on few rows, so only those rows are visited, all classes of a row at once. Every sum is added
// in one order and the exponential is our own: the same rows give the same bits on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ethereal {

class VoteFitting {
public:
    // outputs: rows x clauses, 0 or 1. weights: one per row.
    VoteFitting(const uint8_t* outputs, size_t n_rows, size_t n_clauses, const int32_t* labels,
                const double* weights, size_t n_classes);

    // Goes on from the votes as they are. Stops early when `interrupted` says so.
    void fit(double strength, size_t iterations, const std::function<bool()>& interrupted);
    std::vector<float> votes() const;  // clauses x classes

private:
    struct Lists {  // of each row the clauses that fire, or of each clause the rows
        std::vector<size_t> offsets;
        std::vector<uint32_t> places;
    };
    struct Slope {  // of the objective along a line
        double first, second;
    };

    template <size_t kWidth>
    void add_up(const Lists& lists, const std::vector<float>& from, std::vector<float>& to,
                size_t lane) const;
    void add_up(const Lists& lists, const std::vector<float>& from, std::vector<float>& to) const;
    void softmax(const float* sums, float* shares) const;
    void find_gradient(double strength);
    void find_preconditioner(double strength);
    Slope slope(double strength, double step, const Slope& of_penalty) const;
    double best_step(double strength, double first_slope) const;

    size_t n_rows_, n_clauses_, n_classes_, n_lanes_;  // lanes: classes, and zeros up to a multiple of four
    Lists of_row_, of_clause_;
    std::vector<int32_t> labels_;
    std::vector<float> weights_;
    std::vector<float> votes_, gradient_, direction_, scale_;  // clauses x lanes
    std::vector<float> sums_, change_, errors_;                // rows x lanes. change: of the sums, per step
};

}  // namespace ethereal
