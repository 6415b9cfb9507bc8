// Training of one class: evaluate its clauses on a row, and give feedback to those that are drawn. Included
// by one translation unit per instruction set (see lanes.hpp).
#pragma once
#include "train_feedback.hpp"

namespace ethereal {
namespace {

class ClassTrainer : ClauseFeedback {
public:
    using ClauseFeedback::ClauseFeedback;

    void run(const ClassEvents& e, const std::atomic<bool>& stop) {
        for (size_t i = 0; i < e.n_events; ++i) {
            if (i % kPoolLife == 0) {
                if (stop.load(std::memory_order_relaxed)) return;
                fill_pool();
            }
            update(e.rows + size_t(e.events[i] >> 1) * shape_.words, e.events[i] & 1);
        }
    }

private:
    void update(const uint64_t* row, bool y) {
        evaluate(row);
        const int32_t gap = gap_of_outputs(y);
        if (gap == 0) return;
        draw_clauses(gap);

        const Vector<uint64_t>& type_i = y ? positive_ : negative_;
        const Vector<uint64_t>& type_ii = y ? negative_ : positive_;
        bool spread = false;
        for (uint32_t w = 0; w < output_.size(); ++w) {
            const uint64_t missed = drawn_[w] & type_i[w] & ~output_[w];
            const uint64_t matched = drawn_[w] & type_i[w] & output_[w];
            const uint64_t wrong = drawn_[w] & type_ii[w] & output_[w];
            if ((matched | wrong) && !spread) {
                spread_literals(row);
                spread = true;
            }
            for (uint64_t left = missed; left; left &= left - 1) type_i_output_0(64 * w + ctz(left));
            for (uint64_t left = matched; left; left &= left - 1) type_i_output_1(64 * w + ctz(left));
            for (uint64_t left = wrong; left; left &= left - 1) type_ii_output_1(64 * w + ctz(left));
        }
    }

    // Clause outputs as bits; an empty clause outputs 1 while learning. Lanes past n_clauses are never used.
    void evaluate(const uint64_t* row) {
        constexpr size_t kClauses = kWidth / 8;
        constexpr size_t kUnroll = 4;
        std::fill(output_.begin(), output_.end(), 0);
        size_t j = 0;
        for (; j + kUnroll * kClauses <= shape_.lanes; j += kUnroll * kClauses)
            evaluate_from<kUnroll>(row, j);
        for (; j < shape_.lanes; j += kClauses) evaluate_from<1>(row, j);
    }

    template <size_t kVectors>
    void evaluate_from(const uint64_t* row, size_t first) {
        constexpr size_t kClauses = kWidth / 8;
        Bytes unmet[kVectors];  // included literals that are false in this row
        for (Bytes& u : unmet) u = Lanes::fill8(0);
        const uint64_t* includes = automata_.includes + first;
        for (size_t w = 0; w < shape_.words; ++w, includes += shape_.lanes) {
            const Bytes literals = Lanes::fill64(row[w]);
            for (size_t v = 0; v < kVectors; ++v)
                unmet[v] =
                    Lanes::either(unmet[v], Lanes::without(Lanes::load(includes + v * kClauses), literals));
        }
        for (size_t v = 0; v < kVectors; ++v) {
            const size_t j = first + v * kClauses;
            output_[j / 64] |= Lanes::zero64(unmet[v]) << (j % 64);
        }
    }
};

}  // namespace
}  // namespace ethereal

#define ETHEREAL_DEFINE_TRAIN_CLASS(name)                                                             \
    namespace ethereal {                                                                              \
    void name(const MachineShape& m, const Feedback& f, const ClassAutomata& a, const ClassEvents& e, \
              Stream s, const std::atomic<bool>& stop) {                                              \
        ClassTrainer(m, f, a, s).run(e, stop);                                                        \
    }                                                                                                 \
    }
