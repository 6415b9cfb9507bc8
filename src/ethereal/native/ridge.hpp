// Votes of given clauses by ridge regression: they minimize
//
//     sum over rows of weight * (target - offset - sum of the votes of its clauses)^2  +  strength *
//     |votes|^2.
//
// The matrix of the clauses becomes tridiagonal once (Householder), so that every strength costs next to
// nothing after that. All sums have one order and nothing comes from a library of linear algebra: the same
// rows give the same bits on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ethereal {

class Ridge {
public:
    // outputs: rows x clauses, 0 or 1. weights: one per row, with a positive sum.
    Ridge(const uint8_t* outputs, size_t n_rows, size_t n_clauses, const double* weights);
    // The same for finite numbers in place of outputs.
    Ridge(const double* numbers, size_t n_rows, size_t n_columns, const double* weights);

    struct Fit {
        double squares;  // weighted sum of the squared residuals
        double freedom;  // degrees of freedom, without the offset
    };
    void aim(const double* targets);  // one per row. It comes before the others.
    Fit fit(double strength) const;
    std::vector<double> votes(double strength) const;
    // The same, where a vote must not have another sign than that of its clause, 0 for any.
    std::vector<double> votes(double strength, const int8_t* signs) const;
    double offset(const std::vector<double>& votes) const;
    size_t n_rows() const { return n_rows_; }
    size_t n_clauses() const { return n_; }

private:
    void take_means(const std::vector<double>& totals);
    void make_tridiagonal();
    std::vector<double> solved(double strength) const;

    size_t n_rows_, n_;
    std::vector<uint32_t> places_;  // of each row the clauses that fire
    std::vector<double> numbers_;   // at these places, empty where all are 1
    std::vector<size_t> offsets_;
    std::vector<double> weights_;
    double weight_;                           // of all rows
    std::vector<double> means_;               // of the outputs
    std::vector<double> matrix_;              // of the outputs less their means
    std::vector<double> reflectors_, betas_;  // clauses x clauses: Q is their product
    std::vector<double> diagonal_, beside_;   // Q' matrix Q
    std::vector<double> wanted_, turned_;     // matrix * votes without a penalty, and Q' of it
    double mean_ = 0, squares_ = 0;           // of the targets
};

}  // namespace ethereal
