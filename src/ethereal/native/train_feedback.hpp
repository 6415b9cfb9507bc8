// What training does to the clauses of one class, whatever makes them fire: draw those that get feedback, and
// move their automata. Included by one translation unit per instruction set (see lanes.hpp).
//
// Random bytes. A class update and each Type I feedback take one 64-bit number from the class's stream. It
// picks a place in a pool of random bytes and is added to what stands there, eight bytes at a time: every
// byte of an event is uniform and independent of the other events, at the price of a load and an add. The
// pool itself is drawn anew every kPoolLife updates.
//
// A byte hits with probability 1/s when it is among the 256/s largest; where that is not a whole number, each
// event rounds it up or down at random so that the probability is exact.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "aligned.hpp"
#include "bits.hpp"
#include "lanes.hpp"
#include "train_class.hpp"

namespace ethereal {
namespace {

constexpr size_t kPoolStep = 32;  // bytes between two places an event may start at
constexpr size_t kPoolPlaces = 256;
constexpr size_t kPoolLife = 128;  // class updates

struct ThisSet {};
template <class T>
using Vector = AlignedVector<T, ThisSet>;

class ClauseFeedback {
public:
    ClauseFeedback(const MachineShape& shape, const Feedback& feedback, const ClassAutomata& automata,
                   Stream stream, uint32_t n_votes)
        : shape_(shape),
          feedback_(feedback),
          automata_(automata),
          stream_(stream),
          length_(shape.padded_literals()),
          pool_(kPoolStep * kPoolPlaces + std::max<size_t>(length_, 2 * shape.lanes + kBlock)),
          certain_(length_, 127),
          truth_(length_),
          valid_(length_),
          output_((shape.lanes + 63) / 64),
          drawn_(output_.size()),
          positive_(n_votes * output_.size()),
          negative_(positive_.size()),
          before_(shape.words) {
        std::fill_n(valid_.begin(), shape.n_literals, int8_t(-1));
        for (size_t i = 0; feedback.idle && i < shape.n_literals; ++i)
            if (feedback.idle[i / 64] >> (i % 64) & 1) valid_[i] = 0;
        const double dropped = feedback.variant.drop_clauses;
        for (uint32_t j = 0; j < shape.n_clauses; ++j) {
            if (dropped > 0 && stream_.uniform() < dropped) continue;
            for (uint32_t c = 0; c < n_votes; ++c)
                set_side(c, j,
                         automata.votes ? automata.votes[c * shape.lanes + j] >= 0 : j < shape.positive());
        }
        const double hits = 256.0 / feedback.s;
        hits_ = uint32_t(hits);
        round_up_ = uint32_t((hits - hits_) * 65536.0 + 0.5);
    }

protected:
    using Bytes = Lanes::Bytes;
    static constexpr size_t kWidth = Lanes::kWidth;

    struct Draw {
        const int8_t* bytes;  // as many as there are automata in a clause
        Bytes key, above;     // byte i hits when bytes[i] + key[i] > above
        Bytes hit(size_t i) const { return Lanes::gt8(Lanes::add8(Lanes::load(bytes + i), key), above); }
    };

    void fill_pool() {
        for (size_t i = 0; i < pool_.size() / 8; ++i) {
            const uint64_t r = stream_.next();
            std::memcpy(pool_.data() + 8 * i, &r, 8);
        }
    }

    // The votes of the clauses that fire for class c of the bank, within -T and T.
    int64_t sum(uint32_t c) const {
        const uint64_t *const positive = side(positive_, c), *const negative = side(negative_, c);
        int64_t sum = 0;
        if (!automata_.votes) {
            for (size_t w = 0; w < output_.size(); ++w)
                sum +=
                    int32_t(popcount(output_[w] & positive[w])) - int32_t(popcount(output_[w] & negative[w]));
        } else {
            const int32_t* const votes = automata_.votes + size_t(c) * shape_.lanes;
            for (uint32_t w = 0; w < output_.size(); ++w)
                for (uint64_t left = output_[w] & (positive[w] | negative[w]); left; left &= left - 1)
                    sum += votes[64 * w + ctz(left)];
        }
        return std::min<int64_t>(std::max<int64_t>(sum, -feedback_.T), feedback_.T);
    }

    // The clauses that vote for class c of the bank, or against it, as bits.
    const uint64_t* side(const Vector<uint64_t>& sides, uint32_t c) const {
        return sides.data() + c * output_.size();
    }

    void set_side(uint32_t c, uint32_t clause, bool is_positive) {
        const size_t at = c * output_.size() + clause / 64;
        const uint64_t bit = uint64_t(1) << (clause % 64);
        (is_positive ? positive_ : negative_)[at] |= bit;
        (is_positive ? negative_ : positive_)[at] &= ~bit;
    }

    // The votes of the drawn clauses that fire move towards a row of class c, or away from another one. Only
    // the votes of shared clauses change their sign.
    void move_votes(bool y, uint32_t c) {
        if (!automata_.votes) return;
        int32_t* const votes = automata_.votes + size_t(c) * shape_.lanes;
        const bool is_shared = feedback_.variant.shared;
        for (uint32_t w = 0; w < output_.size(); ++w) {
            uint64_t left = drawn_[w] & output_[w] & (side(positive_, c)[w] | side(negative_, c)[w]);
            for (; left; left &= left - 1) {
                const uint32_t j = 64 * w + ctz(left);
                const int32_t vote = votes[j] + (y ? 1 : -1);
                if (std::abs(vote) > kLargestVote || (vote == 0 && !is_shared)) continue;
                votes[j] = vote;
                if (is_shared) set_side(c, j, vote >= 0);
            }
        }
    }

    // Draws the clauses that get feedback, unless the sum of class c is where it shall be. Each is drawn with
    // probability gap / 2T, to 16 bits.
    bool draw_clauses(bool y, uint32_t c) {
        if (n_taught_++ % kPoolLife == 0) fill_pool();
        const int64_t gap = y ? feedback_.T - sum(c) : feedback_.T + sum(c);
        if (gap == 0) return false;
        const uint64_t twice_T = 2 * uint64_t(feedback_.T);
        const uint64_t hits = (uint64_t(gap) * 65536 + twice_T / 2) / twice_T;
        std::fill(drawn_.begin(), drawn_.end(), hits >= 65536 ? ~uint64_t(0) : 0);
        if (hits >= 65536) return true;
        const uint64_t r = stream_.next();
        const int8_t* bytes = pool_.data() + kPoolStep * (mix(r) % kPoolPlaces);
        const Bytes key = Lanes::fill64(r), above = Lanes::fill16(int16_t(32767 - int32_t(hits)));
        for (size_t j = 0; j < shape_.lanes; j += kWidth / 2)
            drawn_[j / 64] |= Lanes::gt16(Lanes::add16(Lanes::load(bytes + 2 * j), key), above) << (j % 64);
        return true;
    }

    Draw draw_literals() {
        const uint64_t r = stream_.next();
        const uint64_t place = mix(r);
        const uint32_t hits = hits_ + ((place >> 48) < round_up_);
        if (hits >= 256) return {certain_.data(), Lanes::fill8(0), Lanes::fill8(126)};
        return {pool_.data() + kPoolStep * (place % kPoolPlaces), Lanes::fill64(r),
                Lanes::fill8(int8_t(127 - int32_t(hits)))};
    }

    void spread_literals(const uint64_t* row) {  // bits to bytes, once for all clauses of an update
        for (size_t i = 0; i < length_; i += kWidth)
            Lanes::store(&truth_[i], Lanes::both(Lanes::spread(row[i / kBlock] >> (i % kBlock)),
                                                 Lanes::load(&valid_[i])));
    }

    // Calls `use` with the function that says which literals a draw hits, of vectors of them.
    template <class Use>
    void with_hits(const Draw& draw, Use use) {
        if (feedback_.idle)
            use([&](size_t i) { return Lanes::both(draw.hit(i), Lanes::load(&valid_[i])); });
        else
            use([&](size_t i) { return draw.hit(i); });
    }

    // Type I, output 0: every literal -1 with probability 1/s.
    void type_i_output_0(uint32_t clause) {
        with_hits(draw_literals(), [&](auto hit) {
            move(clause, [&](Bytes state, size_t i) { return Lanes::adds8(state, hit(i)); });
        });
    }

    // Type I, output 1: true literals +1 (unboosted: with probability (s-1)/s), false ones -1 with 1/s.
    void type_i_output_1(uint32_t clause) {
        remember_includes(clause);
        with_hits(draw_literals(), [&](auto hits) {
            if (feedback_.boost_true_positive) {
                move(clause, [&](Bytes state, size_t i) {
                    const Bytes truth = Lanes::load(&truth_[i]);
                    return Lanes::subs8(Lanes::adds8(state, Lanes::without(hits(i), truth)), truth);
                });
            } else {
                move(clause, [&](Bytes state, size_t i) {
                    const Bytes truth = Lanes::load(&truth_[i]), hit = hits(i);
                    return Lanes::subs8(Lanes::adds8(state, Lanes::without(hit, truth)),
                                        Lanes::without(truth, hit));
                });
            }
        });
        keep_budget(clause);
    }

    // Type II, output 1: every false, excluded literal +1.
    void type_ii_output_1(uint32_t clause) {
        const Bytes zero = Lanes::fill8(0);
        remember_includes(clause);
        move(clause, [&](Bytes state, size_t i) {
            const Bytes excluded = Lanes::both(Lanes::gt8(zero, state), Lanes::load(&valid_[i]));
            return Lanes::subs8(state, Lanes::without(excluded, Lanes::load(&truth_[i])));
        });
        keep_budget(clause);
    }

    template <class Step>
    void move(uint32_t clause, Step step) {
        int8_t* state = automata_.states + clause * length_;
        uint64_t* includes = automata_.includes + clause;
        for (size_t w = 0; w < shape_.words; ++w, includes += shape_.lanes) {
            uint64_t excluded = 0;
            for (size_t i = w * kBlock; i < (w + 1) * kBlock; i += kWidth) {
                const Bytes now = step(Lanes::load(state + i), i);
                Lanes::store(state + i, now);
                excluded |= Lanes::signs8(now) << (i % kBlock);
            }
            *includes = ~excluded;
        }
    }

    bool budgeted() const { return feedback_.literal_budget < shape_.n_literals; }

    void remember_includes(uint32_t clause) {
        if (!budgeted()) return;
        for (size_t w = 0; w < shape_.words; ++w) before_[w] = automata_.includes[w * shape_.lanes + clause];
    }

    // Of the literals that have just become included, random ones go back to just below the middle until the
    // clause is within its budget.
    void keep_budget(uint32_t clause) {
        if (!budgeted()) return;
        uint32_t count = 0;
        fresh_.clear();
        for (uint32_t w = 0; w < shape_.words; ++w) {
            const uint64_t now = automata_.includes[w * shape_.lanes + clause];
            count += popcount(now);
            for (uint64_t left = now & ~before_[w]; left; left &= left - 1)
                fresh_.push_back(64 * w + ctz(left));
        }
        for (; count > feedback_.literal_budget && !fresh_.empty(); --count) {
            std::swap(fresh_[stream_.below(uint32_t(fresh_.size()))], fresh_.back());
            const uint32_t literal = fresh_.back();
            fresh_.pop_back();
            automata_.states[clause * length_ + literal] = -1;
            automata_.includes[literal / 64 * shape_.lanes + clause] &= ~(uint64_t(1) << (literal % 64));
        }
    }

    const MachineShape& shape_;
    const Feedback& feedback_;
    const ClassAutomata& automata_;
    Stream stream_;
    const size_t length_;  // automata of a clause, padding included
    Vector<int8_t> pool_;
    Vector<int8_t> certain_;                // stands in for the pool when 1/s is 1
    Vector<int8_t> truth_, valid_;          // per literal: -1 where true, -1 where neither padding nor idle
    Vector<uint64_t> output_, drawn_;       // per clause, one bit; those of padding mean nothing
    Vector<uint64_t> positive_, negative_;  // classes of the bank x bits of clauses, none of dropped ones
    Vector<uint64_t> before_;               // includes of a clause before feedback
    Vector<uint32_t> fresh_;
    uint32_t hits_, round_up_;
    uint64_t n_taught_ = 0;  // events so far
};

}  // namespace
}  // namespace ethereal
