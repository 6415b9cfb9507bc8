// Batch inference: a model turned into a program of bit planes once, then evaluated for many rows. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine_kernels.hpp"

namespace ethereal {

// Clauses as in ethereal.Model: literal l < n_booleans is Boolean l, else NOT Boolean l - n_booleans.
struct Clauses {
    uint32_t n_booleans, n_classes;
    size_t n_clauses;
    const int32_t* literals;
    const int64_t* offsets;  // n_clauses + 1
    const int32_t* weights;  // n_clauses x n_classes
};

// A Booleanizer's feature map that owns its arrays.
struct FeatureMap {
    std::vector<double> thresholds;
    std::vector<float> thresholds_float32;
    std::vector<int64_t> threshold_offsets, boolean_offsets;
    std::vector<uint8_t> missing, binned, takes_missing;
};

// Rows in one of the forms the engine takes.
struct Rows {
    enum class Kind { Bools, Packed, Raw };
    Kind kind;
    size_t n;
    Matrix matrix;  // Packed: data and row_stride, bit b of a row is bit b % 8 of its byte b / 8
};

class Engine {
public:
    // Throws std::invalid_argument.
    explicit Engine(const Clauses& clauses, FeatureMap feature_map = {});

    // One index, n_classes sums or n_clauses Booleans per row. `n_threads` >= 1. False: a value that is not
    // allowed (not 0 or 1; NaN).
    bool predict(const Rows& rows, unsigned n_threads, int64_t* winner) const;
    bool class_sums(const Rows& rows, unsigned n_threads, int32_t* sums) const;
    bool clause_outputs(const Rows& rows, unsigned n_threads, uint8_t* outputs) const;  // rows x clauses

    uint32_t n_booleans() const { return program_.n_booleans; }
    uint32_t n_classes() const { return program_.n_classes; }
    size_t n_clauses() const { return program_.n_clauses; }
    uint32_t n_features() const { return raw_.n_features; }
    bool has_feature_map() const { return !feature_map_.threshold_offsets.empty(); }

    Engine(const Engine&) = delete;  // program_ points into the vectors
    Engine& operator=(const Engine&) = delete;

private:
    struct Output {
        int64_t* winner;
        int32_t* sums;
        uint8_t* clauses;
    };
    bool run(const Rows& rows, unsigned n_threads, Output output) const;
    bool run_blocks(const Kernels& kernels, const Rows& rows, size_t first, size_t last, Output output) const;
    void compile(const Clauses& clauses);

    std::vector<uint32_t> negated_, literals_, shared_, lengths_;
    std::vector<ClauseSpan> clauses_;
    std::vector<VoteGroup> groups_;
    std::vector<ClassVotes> classes_;
    std::vector<uint8_t> used_;
    FeatureMap feature_map_;
    Program program_{};
    RawFeatureMap raw_{};
};

}  // namespace ethereal
