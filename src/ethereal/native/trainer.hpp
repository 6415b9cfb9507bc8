// The Tsetlin machine while it learns: all automata of all classes, and epochs over packed rows.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aligned.hpp"
#include "patch.hpp"
#include "train_class.hpp"

namespace ethereal {

struct TrainingRows {
    const uint64_t* literals;  // n_rows x Trainer::row_words, as in LearningRows
    const int32_t* classes;    // n_rows
    const double* weights;     // n_rows, mean number of visits per epoch; null: once each
    size_t n_rows;
};

class Trainer {
public:
    // Holds the automata of `held` of the n_classes classes, from `first` on; usually all. The others train
    // elsewhere: a class's automata depend on the rows and the seed, not on what other classes learn. Joint
    // variants hold all, and a shared bank is one for all classes.
    Trainer(uint32_t n_classes, uint32_t first, uint32_t held, uint32_t n_clauses, uint32_t n_booleans,
            const Feedback& feedback, uint64_t seed, bool random_start,
            const std::optional<PatchShape>& patch = std::nullopt);

    // One pass over the rows, classes spread over threads. `interrupted` is asked a few times a second; once
    // it says yes, the automata go back to where the last epoch left them and epoch() returns false (an epoch
    // that takes a fraction of a second is finished first).
    bool epoch(const TrainingRows& rows, uint32_t n_threads, const std::function<bool()>& interrupted);

    // ETHEREAL's exclusion: per class, a literal included by clauses of both polarities is lowered by half
    // the states wherever it is included. Returns the number of includes taken out.
    uint64_t exclude();
    void undo_exclusion();  // of all since the last epoch

    const MachineShape& shape() const { return shape_; }  // with the banks held here
    size_t row_words() const { return patch_ ? (2 * patch_->row_booleans() + 63) / 64 : shape_.words; }
    uint32_t all_classes() const { return all_classes_; }
    uint64_t epochs_done() const { return epochs_done_; }
    void set_epochs_done(uint64_t n) { epochs_done_ = n; }  // the position of the generator
    uint64_t n_includes() const;

    void read_states(uint8_t* out) const;  // n_classes x n_clauses x n_literals, 0..255, included from 128 on
    void write_states(const uint8_t* in);
    // Votes, n_votes() x n_clauses: of each bank for its class, or of the shared one for each class.
    size_t n_votes() const { return votes_.size() / shape_.lanes; }  // 0 where they are 1 and -1
    void read_votes(int32_t* out) const;
    void write_votes(const int32_t* in);
    // Included literals, ascending, clause after clause; offsets has n_classes * n_clauses + 1 entries.
    void read_clauses(std::vector<int32_t>& literals, std::vector<int64_t>& offsets) const;

private:
    class Undo;
    ClassAutomata automata(uint32_t c);
    std::vector<uint32_t> draw_order(const TrainingRows& rows, Stream& stream) const;
    std::vector<std::vector<uint32_t>> draw_events(const TrainingRows& rows) const;
    std::vector<uint64_t> idle_literals() const;  // of the epoch; empty: none
    void learn_jointly(const Feedback& feedback, const LearningRows& view, const TrainingRows& rows,
                       const std::atomic<bool>& stop);
    std::vector<uint64_t> planes_of(const TrainingRows& rows, uint32_t n_threads) const;  // of patches
    void derive_includes();
    void start();

    MachineShape shape_;
    std::optional<PatchShape> patch_;  // none: a clause is over whole rows
    Feedback feedback_;
    uint32_t all_classes_, first_class_;
    uint64_t seed_;
    bool random_start_;  // each automaton on one side of the middle or the other, else all just below it
    uint64_t epochs_done_ = 0;
    double last_epoch_seconds_ = -1;     // unknown
    std::vector<double> class_seconds_;  // of the last epoch; empty: unknown
    bool fresh_ = true;                  // the automata stand at their start
    std::vector<size_t> lowered_;        // automata that exclude() has lowered since the last epoch
    AlignedVector<int8_t> states_;
    AlignedVector<uint64_t> includes_;
    std::vector<int32_t> votes_;  // as in read_votes, x lanes; empty: 1 and -1
};

// Rows of 0/1 bytes to literal bits: the Booleans, then their negations, padding 0.
void pack_literals(const uint8_t* booleans, size_t n_rows, size_t n_booleans, ptrdiff_t row_stride,
                   ptrdiff_t column_stride, uint64_t* out);

}  // namespace ethereal
