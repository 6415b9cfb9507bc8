// Batch inference with clauses over patches.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "patch.hpp"

namespace ethereal {

class PatchEngine {
public:
    PatchEngine(const PatchShape& patch, std::vector<int32_t> literals, std::vector<int64_t> offsets,
                std::vector<int32_t> weights, size_t n_classes);

    size_t n_clauses() const { return offsets_.size() - 1; }
    size_t n_classes() const { return n_classes_; }
    const PatchShape& patch() const { return patch_; }

    // Rows as bits, cell after cell, `row_words` words each. Whichever is not null is written: the number of
    // the largest sum, rows; sums, rows x classes; 0 or 1, rows x clauses.
    void run(const uint64_t* rows, size_t row_words, size_t n_rows, size_t n_threads, int64_t* winners,
             int32_t* sums, uint8_t* fires) const;

private:
    void run_block(const uint64_t* rows, size_t row_words, size_t n_rows, int64_t* winners, int32_t* sums,
                   uint8_t* fires) const;

    PatchShape patch_;
    std::vector<int32_t> literals_;
    std::vector<int64_t> offsets_;
    std::vector<int32_t> weights_;  // clauses x classes
    size_t n_classes_;
};

}  // namespace ethereal
