// Training of clauses over patches. Included by one translation unit per instruction set (see
// lanes.hpp).
//
// An update evaluates all clauses at all positions of a row. Whatever fires at several positions gets its
// feedback from one of them, drawn at random, and only there are the literals of its patch spread.
//
// A clause with more literals than its budget only forgets where it would be strengthened. Over whole rows
// random ones of the literals that are too many are dropped at once. Over patches that is 14 points worse on
// mnist: the first patch fills a clause, and its literals stay.
#pragma once
#include "patch.hpp"
#include "patch_planes.hpp"
#include "train_feedback.hpp"

namespace ethereal {
namespace {

// So that what is common to both trainers drops no literals.
struct WithoutBudget {
    Feedback feedback;
    WithoutBudget(Feedback f, uint32_t n_literals) : feedback(f) { feedback.literal_budget = n_literals; }
};

class PatchBank : WithoutBudget, ClauseFeedback {
public:
    PatchBank(const MachineShape& shape, const Feedback& feedback, const LearningRows& rows,
              const ClassAutomata& automata, Stream stream, uint32_t n_votes)
        : WithoutBudget(feedback, shape.n_literals),
          ClauseFeedback(shape, WithoutBudget::feedback, automata, stream, n_votes),
          budget_(feedback.literal_budget),
          rows_(rows),
          patch_(*rows.patch),
          planes_(patch_),
          n_booleans_(patch_.n_booleans()),
          place_(n_booleans_),
          literals_(shape.words + 2),
          matches_(shape.n_clauses * planes_.span()),
          includes_(size_t(shape.n_clauses) * shape.words),
          tests_(shape.n_clauses) {
        for (uint32_t b = 0; b < n_booleans_; ++b) place_[b] = planes_.place(b);
        for (uint32_t j = 0; j < shape.n_clauses; ++j) list(j);
    }

    using ClauseFeedback::sum;

    void look(size_t row) {
        planes_.load(rows_.planes + row * patch_.row_words());
        std::fill(output_.begin(), output_.end(), 0);
        for (uint32_t j = 0; j < shape_.n_clauses; ++j) {
            const Tests& t = tests_[j];
            const bool fires = planes_.match(t.places.data(), t.n_true, t.places.size(), match_of(j));
            output_[j / 64] |= uint64_t(fires) << (j % 64);
        }
    }

    void teach(size_t number, bool y, uint32_t c) {
        if (!draw_clauses(y, c)) return;
        const uint64_t* const row = rows_.literals + number * rows_.row_words;
        const uint64_t* const type_i = side(y ? positive_ : negative_, c);
        const uint64_t* const type_ii = side(y ? negative_ : positive_, c);
        for (uint32_t w = 0; w < output_.size(); ++w) {
            for (uint64_t left = drawn_[w] & type_i[w] & ~output_[w]; left; left &= left - 1) {
                type_i_output_0(64 * w + ctz(left));
                list_if_changed(64 * w + ctz(left));
            }
            for (uint64_t left = drawn_[w] & type_i[w] & output_[w]; left; left &= left - 1) {
                if (tests_[64 * w + ctz(left)].n_includes > budget_) {
                    type_i_output_0(64 * w + ctz(left));
                } else {
                    look_where(row, 64 * w + ctz(left));
                    type_i_output_1(64 * w + ctz(left));
                }
                list_if_changed(64 * w + ctz(left));
            }
            for (uint64_t left = drawn_[w] & type_ii[w] & output_[w]; left; left &= left - 1) {
                look_where(row, 64 * w + ctz(left));
                type_ii_output_1(64 * w + ctz(left));
                list_if_changed(64 * w + ctz(left));
            }
        }
        move_votes(y, c);
    }

private:
    struct Tests {
        Vector<uint32_t> places;  // of the includes that are not idle, those that are not negated first
        size_t n_true = 0, n_includes = 0;
    };

    uint8_t* match_of(uint32_t clause) { return matches_.data() + clause * planes_.span(); }

    // Draws one of the positions where a clause matches, and spreads the literals of the patch there.
    void look_where(const uint64_t* row, uint32_t clause) {
        const uint8_t* const match = match_of(clause);
        uint32_t count = 0;
        for (size_t b = 0; b < planes_.span(); b += 8) count += popcount(load_word(match + b));
        uint32_t skip = stream_.below(count);
        size_t b = 0;
        uint64_t word = load_word(match);
        for (uint32_t n; skip >= (n = popcount(word)); skip -= n) word = load_word(match + (b += 8));
        for (; skip; --skip) word &= word - 1;
        const size_t position = 8 * b + ctz(word);
        write_literals(row, uint32_t(position / patch_.width), uint32_t(position % patch_.width));
        for (size_t i = 0; i < length_; i += kWidth)
            Lanes::store(&truth_[i], Lanes::both(Lanes::spread(literals_[i / kBlock] >> (i % kBlock)),
                                                 Lanes::load(&valid_[i])));
    }

    // The literals of the patch at a position as bits: Booleans, then their negations.
    void write_literals(const uint64_t* row, uint32_t y, uint32_t x) {
        std::fill(literals_.begin(), literals_.end(), 0);
        size_t at = 0;
        const size_t run = size_t(patch_.patch_width) * patch_.planes;
        for (uint32_t dy = 0; dy < patch_.patch_height; ++dy, at += run) {
            const size_t from = (size_t(y + dy) * patch_.width + x) * patch_.planes;
            for (size_t i = 0; i < run; i += 64) {
                const size_t n = std::min<size_t>(64, run - i);
                put(at + i, bits(row, from + i, n), n);
            }
        }
        if (patch_.places) {
            for (uint32_t k = 0; k + 1 < patch_.rows(); ++k, ++at) put(at, y > k, 1);
            for (uint32_t k = 0; k + 1 < patch_.columns(); ++k, ++at) put(at, x > k, 1);
        }
        for (size_t i = 0; i < n_booleans_; i += 64) {
            const size_t n = std::min<size_t>(64, n_booleans_ - i);
            put(n_booleans_ + i, ~bits(literals_.data(), i, n), n);
        }
    }

    // n bits from bit i on, 1 to 64 of them.
    static uint64_t bits(const uint64_t* words, size_t i, size_t n) {
        uint64_t word = words[i / 64] >> (i % 64);
        if (i % 64 + n > 64) word |= words[i / 64 + 1] << (64 - i % 64);
        return word & ~uint64_t(0) >> (64 - n);
    }

    void put(size_t i, uint64_t word, size_t n) {
        word &= ~uint64_t(0) >> (64 - n);
        literals_[i / 64] |= word << (i % 64);
        if (i % 64 + n > 64) literals_[i / 64 + 1] |= word >> (64 - i % 64);
    }

    void list_if_changed(uint32_t clause) {
        const uint64_t* const listed = includes_.data() + size_t(clause) * shape_.words;
        bool same = true;
        for (size_t w = 0; w < shape_.words; ++w)
            same &= listed[w] == automata_.includes[w * shape_.lanes + clause];
        if (!same) list(clause);
    }

    void list(uint32_t clause) {
        uint64_t* const listed = includes_.data() + size_t(clause) * shape_.words;
        Tests& t = tests_[clause];
        t.places.clear();
        t.n_true = t.n_includes = 0;
        for (uint32_t w = 0; w < shape_.words; ++w) {
            listed[w] = automata_.includes[w * shape_.lanes + clause];
            t.n_includes += popcount(listed[w]);
            const uint64_t idle = feedback_.idle ? feedback_.idle[w] : 0;
            for (uint64_t left = listed[w] & ~idle; left; left &= left - 1) {
                const uint32_t literal = 64 * w + ctz(left);
                t.n_true += literal < n_booleans_;
                t.places.push_back(place_[literal % n_booleans_]);
            }
        }
    }

    const uint32_t budget_;
    const LearningRows& rows_;
    const PatchShape& patch_;
    PatchPlanes planes_;
    const uint32_t n_booleans_;
    Vector<uint32_t> place_;     // of each Boolean
    Vector<uint64_t> literals_;  // of the patch at one position, bits
    Vector<uint8_t> matches_;    // clauses x positions, bits
    Vector<uint64_t> includes_;  // clauses x words, those that are listed in tests_
    Vector<Tests> tests_;        // per clause
};

}  // namespace
}  // namespace ethereal
