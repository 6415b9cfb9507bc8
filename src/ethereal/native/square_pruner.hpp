// Pruning by half the sum over rows of (target - offset - scale * sum)^2, for the one column of a number.
//
// The offset is always the best one: it takes part in no move, so a clause that fires on every row is worth
// nothing. Sums are whole numbers, so nothing drifts.
#pragma once
#include "pruner.hpp"

namespace ethereal {

class SquarePruner : public Pruner {
public:
    static constexpr int32_t kMostVote = 127;  // a vote is a signed byte

    // targets: one per row. The others are those of Pruner.
    SquarePruner(std::unique_ptr<ClauseRows> rows, const double* targets, const int32_t* features,
                 const std::vector<int32_t>& literals, const std::vector<int64_t>& offsets,
                 const int32_t* votes, double scale, uint64_t seed, std::vector<int8_t> signs);
    double loss() const override;

protected:
    void begin_sweep() override;
    Move best_vote_move(Clause& clause, double price, const SizeModel& size) override;
    void find_losses(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign,
                     std::vector<double>& losses) const override;
    void add_votes(const std::vector<uint32_t>& rows, const std::vector<int32_t>& votes, int sign) override;

private:
    double offset(int64_t total) const { return (target_total_ - scale_ * double(total)) / double(n_rows_); }

    std::vector<double> targets_;  // per row
    double target_total_;
    std::vector<int32_t> sums_;  // per row
    int64_t total_;              // of the sums
};

}  // namespace ethereal
