// What a trainer hands to the loop over one class's events; the loop is compiled once per instruction set.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "random.hpp"

namespace ethereal {

constexpr size_t kBlock = 64;  // automata are handled in blocks of 64: one word of include bits

struct MachineShape {
    uint32_t n_classes;
    uint32_t n_clauses;   // per class; the first half votes for the class, the second half against it
    uint32_t n_literals;  // 2 x Boolean features: the features, then their negations
    uint32_t words;       // include words per clause, ceil(n_literals / 64)
    uint32_t lanes;       // n_clauses padded to a multiple of 8

    uint32_t positive() const { return (n_clauses + 1) / 2; }  // clauses that vote for the class
    size_t padded_literals() const { return words * kBlock; }
    size_t states_per_class() const { return n_clauses * padded_literals(); }
    size_t include_words_per_class() const { return size_t(words) * lanes; }
};

struct Feedback {
    int32_t T;
    double s;
    bool boost_true_positive;
    uint32_t literal_budget;  // most includes that a clause may have
};

// One class's automata. A state is stored as (state - 128), so that its sign bit says "excluded".
struct ClassAutomata {
    int8_t* states;      // n_clauses x padded_literals; padding stays at -128
    uint64_t* includes;  // words x lanes: bit i of includes[w][j]: clause j includes literal 64 w + i
};

struct ClassEvents {
    const uint64_t* rows;    // training rows x words: bit i of word w is literal 64 w + i
    const uint32_t* events;  // row << 1 | (the row belongs to the class)
    size_t n_events;
};

// Applies the events in order; leaves early, in the middle of an epoch, once `stop` is set.
using TrainClass = void(const MachineShape&, const Feedback&, const ClassAutomata&, const ClassEvents&,
                        Stream, const std::atomic<bool>& stop);

TrainClass train_class_scalar, train_class_avx2, train_class_avx512, train_class_neon;

}  // namespace ethereal
