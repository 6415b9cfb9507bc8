// Pruning by the sum over rows of cross-entropy(target, softmax(scale * class sums)).
//
// The change of the loss by a move is computed exactly, on the rows that the move concerns.
#pragma once
#include "pruner.hpp"

namespace ethereal {

class SoftmaxPruner : public Pruner {
public:
    // targets: rows x classes, sum 1 each. The others are those of Pruner.
    SoftmaxPruner(std::unique_ptr<ClauseRows> rows, size_t n_classes, const float* targets,
                  const int32_t* features, const std::vector<int32_t>& literals,
                  const std::vector<int64_t>& offsets, const int32_t* votes, double scale, uint64_t seed);
    double loss() const override;

protected:
    void begin_sweep() override;
    Move best_vote_move(Clause& clause, double price, const SizeModel& size) override;
    void find_losses(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign,
                     std::vector<double>& losses) const override;
    void add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign) override;

private:
    struct Factor {  // a change of one class's sum multiplies its share before normalization by 1 + excess
        size_t class_;
        double excess;
    };
    static constexpr size_t kBlock = 4;  // classes that are added up side by side

    void add_up_shares(const std::vector<uint32_t>& rows);
    void add_up_targets(Clause& clause) const;
    double log_growth(const std::vector<uint32_t>& rows, size_t class_, double excess);
    std::vector<Factor> factors(const std::vector<int32_t>& votes, int sign) const;
    double growth(uint32_t row, const std::vector<Factor>& factors) const;

    size_t stride_;                                // classes and zeros, a multiple of kBlock
    std::vector<float> targets_, shares_;          // rows x stride; shares: softmax of the class sums
    std::vector<double> share_sums_, curvatures_;  // of add_up_shares, per class
    std::vector<float> column_;                    // of log_growth: shares of one class on a clause's rows
};

}  // namespace ethereal
