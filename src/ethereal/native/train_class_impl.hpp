// Training of banks of clauses: evaluate the clauses on a row, and give feedback to those that are drawn.
// Included by one translation unit per instruction set (see lanes.hpp).
#pragma once
#include <memory>

#include "patch_impl.hpp"
#include "train_feedback.hpp"

namespace ethereal {
namespace {

// A bank of clauses over whole rows.
class RowBank : ClauseFeedback {
public:
    RowBank(const MachineShape& shape, const Feedback& feedback, const LearningRows& rows,
            const ClassAutomata& automata, Stream stream, uint32_t n_votes)
        : ClauseFeedback(shape, feedback, automata, stream, n_votes), rows_(rows), seen_(shape.words) {}

    using ClauseFeedback::sum;

    // Evaluates the clauses on a row.
    void look(size_t row) {
        const uint64_t* literals = rows_.literals + row * rows_.row_words;
        for (size_t w = 0; feedback_.idle && w < shape_.words; ++w)
            seen_[w] = literals[w] | feedback_.idle[w];
        evaluate(feedback_.idle ? seen_.data() : literals);
    }

    // Teaches the row that was looked at last to class c of the bank, which is the row's class or not.
    void teach(size_t row, bool y, uint32_t c) {
        if (!draw_clauses(y, c)) return;
        const uint64_t* const type_i = side(y ? positive_ : negative_, c);
        const uint64_t* const type_ii = side(y ? negative_ : positive_, c);
        bool spread = false;
        for (uint32_t w = 0; w < output_.size(); ++w) {
            const uint64_t missed = drawn_[w] & type_i[w] & ~output_[w];
            const uint64_t matched = drawn_[w] & type_i[w] & output_[w];
            const uint64_t wrong = drawn_[w] & type_ii[w] & output_[w];
            if ((matched | wrong) && !spread) {
                spread_literals(rows_.literals + row * rows_.row_words);
                spread = true;
            }
            for (uint64_t left = missed; left; left &= left - 1) type_i_output_0(64 * w + ctz(left));
            for (uint64_t left = matched; left; left &= left - 1) type_i_output_1(64 * w + ctz(left));
            for (uint64_t left = wrong; left; left &= left - 1) type_ii_output_1(64 * w + ctz(left));
        }
        move_votes(y, c);
    }

private:
    // Clause outputs as bits; an empty clause outputs 1 while learning.
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

    const LearningRows& rows_;
    Vector<uint64_t> seen_;  // literals of a row, and the idle ones
};

template <class Bank>
void learn_apart(Bank& bank, const ClassEvents& e, const std::atomic<bool>& stop) {
    for (size_t i = 0; i < e.n_events; ++i) {
        if (i % kPoolLife == 0 && stop.load(std::memory_order_relaxed)) return;
        bank.look(e.events[i] >> 1);
        bank.teach(e.events[i] >> 1, e.events[i] & 1, 0);
    }
}

// All banks, row after row: each row teaches its own class and one other.
template <class Bank>
class JointTraining {
public:
    JointTraining(const MachineShape& shape, const Feedback& feedback, const LearningRows& rows,
                  const ClassAutomata* automata, uint32_t n_classes, const Stream* streams)
        : is_shared_(feedback.variant.shared),
          is_focused_(feedback.variant.focused),
          T_(feedback.T),
          n_classes_(n_classes),
          wrong_(n_classes) {
        for (uint32_t b = 0; b < shape.n_classes; ++b)
            banks_.push_back(std::make_unique<Bank>(shape, feedback, rows, automata[b], streams[b],
                                                    is_shared_ ? n_classes : 1));
    }

    void run(const JointEvents& e, Stream others, const std::atomic<bool>& stop) {
        for (size_t i = 0; i < e.n_events; ++i) {
            if (i % kPoolLife == 0 && stop.load(std::memory_order_relaxed)) return;
            const size_t row = e.order[i];
            const uint32_t label = uint32_t(e.classes[row]);
            for (auto& bank : banks_) bank->look(row);
            const uint32_t other = draw_other(label, others);
            of(label).teach(row, true, place(label));
            if (other == n_classes_) continue;
            if (is_shared_) of(other).look(row);
            of(other).teach(row, false, place(other));
        }
    }

private:
    Bank& of(uint32_t c) { return *banks_[is_shared_ ? 0 : c]; }
    uint32_t place(uint32_t c) const { return is_shared_ ? c : 0; }

    // Another class than the row's: any, or one in proportion to how far its sum is above -T. n_classes where
    // all are there.
    uint32_t draw_other(uint32_t label, Stream& others) {
        if (!is_focused_) {
            const uint32_t other = others.below(n_classes_ - 1);
            return other + (other >= label);
        }
        uint32_t total = 0;
        for (uint32_t c = 0; c < n_classes_; ++c) {
            wrong_[c] = c == label ? 0 : uint32_t(T_ + of(c).sum(place(c)));
            total += wrong_[c];
        }
        if (total == 0) return n_classes_;
        uint32_t left = others.below(total), c = 0;
        for (; left >= wrong_[c]; ++c) left -= wrong_[c];
        return c;
    }

    const bool is_shared_, is_focused_;
    const int32_t T_;
    const uint32_t n_classes_;
    Vector<uint32_t> wrong_;  // per class
    Vector<std::unique_ptr<Bank>> banks_;
};

inline void train_apart(const MachineShape& m, const Feedback& f, const LearningRows& rows,
                        const ClassAutomata& a, const ClassEvents& e, Stream s,
                        const std::atomic<bool>& stop) {
    if (rows.patch) {
        PatchBank bank(m, f, rows, a, s, 1);
        learn_apart(bank, e, stop);
    } else {
        RowBank bank(m, f, rows, a, s, 1);
        learn_apart(bank, e, stop);
    }
}

inline void train_jointly(const MachineShape& m, const Feedback& f, const LearningRows& rows,
                          const ClassAutomata* banks, const JointEvents& e, const Stream* streams,
                          Stream others, const std::atomic<bool>& stop) {
    if (rows.patch)
        JointTraining<PatchBank>(m, f, rows, banks, e.n_classes, streams).run(e, others, stop);
    else
        JointTraining<RowBank>(m, f, rows, banks, e.n_classes, streams).run(e, others, stop);
}

}  // namespace
}  // namespace ethereal

#define ETHEREAL_DEFINE_TRAINING(name)                          \
    namespace ethereal {                                        \
    extern const TrainFunctions name;                           \
    const TrainFunctions name = {&train_apart, &train_jointly}; \
    }
