#include "patch_engine.hpp"

#include <algorithm>
#include <utility>

#include "threads.hpp"

namespace ethereal {

namespace {
constexpr size_t kBlockRows = 64;  // that one call evaluates
}

PatchEngine::PatchEngine(const PatchShape& patch, std::vector<int32_t> literals, std::vector<int64_t> offsets,
                         std::vector<int32_t> weights, size_t n_classes)
    : patch_(patch),
      literals_(std::move(literals)),
      offsets_(std::move(offsets)),
      weights_(std::move(weights)),
      n_classes_(n_classes) {}

void PatchEngine::run(const uint64_t* rows, size_t row_words, size_t n_rows, size_t n_threads,
                      int64_t* winners, int32_t* sums, uint8_t* fires) const {
    const size_t n_blocks = (n_rows + kBlockRows - 1) / kBlockRows;
    const size_t n_parts = std::max<size_t>(1, std::min(n_threads, n_blocks));
    in_threads(n_parts, [&](size_t part) {
        const size_t end = std::min(n_rows, n_blocks * (part + 1) / n_parts * kBlockRows);
        for (size_t r = n_blocks * part / n_parts * kBlockRows; r < end; r += kBlockRows)
            run_block(rows + r * row_words, row_words, std::min(kBlockRows, end - r),
                      winners ? winners + r : nullptr, sums ? sums + r * n_classes_ : nullptr,
                      fires ? fires + r * n_clauses() : nullptr);
    });
}

void PatchEngine::run_block(const uint64_t* rows, size_t row_words, size_t n_rows, int64_t* winners,
                            int32_t* sums, uint8_t* fires) const {
    std::vector<uint64_t> planes(n_rows * patch_.row_words());
    for (size_t r = 0; r < n_rows; ++r)
        fill_planes(patch_, rows + r * row_words, planes.data() + r * patch_.row_words());
    std::vector<uint8_t> outputs(fires ? 0 : n_rows * n_clauses());
    uint8_t* const out = fires ? fires : outputs.data();
    match_patches()({patch_, literals_.data(), offsets_.data(), n_clauses()}, planes.data(), n_rows, out);
    if (!winners && !sums) return;
    std::vector<int32_t> votes(n_classes_);
    for (size_t r = 0; r < n_rows; ++r) {
        std::fill(votes.begin(), votes.end(), 0);
        for (size_t j = 0; j < n_clauses(); ++j)
            if (out[r * n_clauses() + j])
                for (size_t c = 0; c < n_classes_; ++c) votes[c] += weights_[j * n_classes_ + c];
        if (sums) std::copy(votes.begin(), votes.end(), sums + r * n_classes_);
        if (winners) winners[r] = std::max_element(votes.begin(), votes.end()) - votes.begin();
    }
}

}  // namespace ethereal
