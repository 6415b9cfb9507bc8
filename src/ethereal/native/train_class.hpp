// What a trainer hands to the loop over one class's events; the loop is compiled once per instruction set.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "random.hpp"

namespace ethereal {

struct PatchShape;

constexpr size_t kBlock = 64;  // automata are handled in blocks of 64: one word of include bits

struct MachineShape {
    uint32_t n_classes;   // banks of clauses: one per class, or one for all
    uint32_t n_clauses;   // of a bank; the first half votes for its class, the second half against it
    uint32_t n_literals;  // 2 x Boolean features: the features, then their negations
    uint32_t words;       // include words per clause, ceil(n_literals / 64)
    uint32_t lanes;       // n_clauses padded to a multiple of 8

    uint32_t positive() const { return (n_clauses + 1) / 2; }  // clauses that vote for the class
    size_t padded_literals() const { return words * kBlock; }
    size_t states_per_class() const { return n_clauses * padded_literals(); }
    size_t include_words_per_class() const { return size_t(words) * lanes; }
};

// What other machines of the field do differently. The defaults are those of the plain machine.
struct Variant {
    bool weighted = false;  // the votes of clauses are whole numbers that learn
    bool shared = false;    // one bank of clauses for all classes, with a vote for each (coalesced)
    bool negated = true;    // whether clauses may include negated literals
    bool focused = false;   // the other class of a row is drawn by how wrong its sum is
    double drop_clauses = 0, drop_literals = 0;  // share that takes no part in an epoch

    bool has_votes() const { return weighted || shared; }
    bool is_joint() const { return shared || focused; }  // classes do not learn apart from each other
};

struct Feedback {
    int32_t T;
    double s;
    bool boost_true_positive;
    uint32_t literal_budget;  // most includes that a clause may have
    Variant variant = {};
    // Literals that count as true and do not move in this epoch, `words` words of bits. Null: none.
    const uint64_t* idle = nullptr;
};

constexpr int32_t kLargestVote = 32767;

// The automata of one bank. A state is stored as (state - 128), so that its sign bit says "excluded".
struct ClassAutomata {
    int8_t* states;      // n_clauses x padded_literals; padding stays at -128
    uint64_t* includes;  // words x lanes: bit i of includes[w][j]: clause j includes literal 64 w + i
    int32_t* votes;      // classes of the bank x lanes; null: 1 and -1, by halves
};

struct LearningRows {
    const PatchShape* patch;   // null: a clause is over whole rows
    const uint64_t* literals;  // rows x row_words: bit i of word w is literal 64 w + i
    size_t row_words;
    const uint64_t* planes;  // rows x PatchShape::row_words, where there is a patch
};

// What one bank learns from when classes are independent.
struct ClassEvents {
    const uint32_t* events;  // row << 1 | (the row belongs to the class)
    size_t n_events;
};

// What all banks learn from together.
struct JointEvents {
    const uint32_t* order;  // rows
    size_t n_events;
    const int32_t* classes;  // of all rows
    uint32_t n_classes;
};

// Apply the events in order; leave early, in the middle of an epoch, once `stop` is set. Streams are those of
// the banks, and `others` is where the other classes of rows are drawn from.
struct TrainFunctions {
    void (*apart)(const MachineShape&, const Feedback&, const LearningRows&, const ClassAutomata&,
                  const ClassEvents&, Stream, const std::atomic<bool>& stop);
    void (*jointly)(const MachineShape&, const Feedback&, const LearningRows&, const ClassAutomata* banks,
                    const JointEvents&, const Stream* streams, Stream others, const std::atomic<bool>& stop);
};

extern const TrainFunctions train_scalar, train_avx2, train_avx512, train_neon;

}  // namespace ethereal
