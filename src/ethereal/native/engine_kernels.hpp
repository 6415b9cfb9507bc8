// What the batch inference engine asks of a kernel, and the model in the form a kernel reads.
//
// Rows are worked on in blocks. Within a block everything is a bit plane: `words` words of 64 bits, bit r of
// a plane belonging to row r of the block (bit r % 64 of word r / 64). Planes of a block, [plane][words]:
//   0 .. n_booleans          the Boolean features
//   .. + n_negated           NOT Boolean negated[i], for those that some clause includes negated
//   .. + n_shared            outputs of clauses that vote more than once
#pragma once

#include <cstddef>
#include <cstdint>

namespace ethereal {

// Clauses that vote +2^level or -2^level for one class: terms first_term .. first_term + n_terms.
struct VoteGroup {
    uint32_t level, n_terms;
    size_t first_term, first_literal;
};

// Groups first .. middle add votes, middle .. last take them away.
struct ClassVotes {
    uint32_t first, middle, last;
};

// Where the planes of a clause's literals are in `literals`.
struct ClauseSpan {
    size_t first_literal;
    uint32_t length;
};

// A model, read-only. A term is an AND of planes; `literals` has the planes of all terms.
struct Program {
    uint32_t n_booleans, n_negated, n_shared, n_classes;
    size_t n_clauses;
    const uint32_t* literals;
    const uint32_t* negated;    // n_negated: Boolean
    const ClauseSpan* clauses;  // n_clauses, in the model's order
    const uint32_t* shared;     // n_shared: clause
    const uint32_t* lengths;    // of the terms of all groups
    const VoteGroup* groups;
    const ClassVotes* classes;  // n_classes
    uint32_t counter_bits;      // bits of bias + class sum
    uint64_t bias;              // so that bias + class sum is never negative
};

// The Booleanizer in the form a kernel reads: ethereal.features.feature_map.FeatureMap.
struct RawFeatureMap {
    uint32_t n_features;
    const double* thresholds;
    const float* thresholds_float32;   // rounded down: the same comparison for every float32 value
    const int64_t* threshold_offsets;  // n_features + 1
    const int64_t* boolean_offsets;    // n_features + 1
    const uint8_t* missing;            // n_features: has a Boolean for a missing value
    const uint8_t* binned;             // n_features: one-hot bins instead of thresholds
    const uint8_t* used;               // n_features: some clause reads it
    const uint8_t* takes_missing;      // n_features: NaN is not an error
};

enum class Number : uint8_t { Bool, U8, I8, U16, I16, U32, I32, U64, I64, F32, F64 };

struct Column {
    const uint8_t* data;
    ptrdiff_t stride;  // bytes from row to row
    Number number;
};

// Rows x features: either one matrix with any strides (bytes), or `columns`, one array per feature.
struct Matrix {
    const uint8_t* data;
    ptrdiff_t row_stride, column_stride;
    Number number;
    const Column* columns;  // nullptr: a matrix
};

struct Kernels {
    uint32_t words;  // of a plane in a block; a block has 64 * words rows

    // The first `rows` rows of a source, rows <= 64 * words, to the planes of the Booleans; bits past them
    // are arbitrary. `scratch` has scratch_bytes(n_booleans) bytes. False: a value that is not allowed
    // (neither 0 nor 1; NaN), the planes are then of no use.
    bool (*bools)(const Matrix& x, uint32_t rows, uint32_t n_booleans, uint64_t* planes, uint8_t* scratch);
    void (*packed)(const uint8_t* x, ptrdiff_t row_stride, uint32_t rows, uint32_t n_booleans,
                   uint64_t* planes, uint8_t* scratch);
    bool (*raw)(const Matrix& x, size_t first_row, uint32_t rows, const RawFeatureMap& feature_map,
                uint64_t* planes);
    size_t (*scratch_bytes)(uint32_t n_booleans);

    // Planes of the Booleans filled in: evaluate the clauses, write for each row the winner's index, all
    // class sums, or whether each clause fires.
    void (*predict)(const Program& model, uint64_t* planes, uint32_t rows, int64_t* winner);
    void (*class_sums)(const Program& model, uint64_t* planes, uint32_t rows, int32_t* sums);
    void (*clause_outputs)(const Program& model, uint64_t* planes, uint32_t rows, uint8_t* outputs);
};

// Three sizes of block per instruction set: one word per plane for up to 64 rows, where all planes are near;
// one vector, for more rows or very many planes; several vectors.
struct KernelSet {
    Kernels single, narrow, wide;
};
extern const KernelSet kernels_scalar, kernels_avx2, kernels_avx512, kernels_neon;

}  // namespace ethereal
