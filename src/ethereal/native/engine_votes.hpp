// Planes of Booleans to class sums: clauses as ANDs of planes, votes added in bit-sliced counters.
//
// A counter is a number per row stored as planes: counter[b] holds bit b of every row's number. Adding one
// clause's output to it naively ripples a carry through all bits; here 8 outputs go through a tree of full
// adders in registers, and what comes out at 8 times the weight waits until there are two of a kind.
#pragma once

#include <cstring>

#include "engine_kernels.hpp"
#include "vec.hpp"

namespace ethereal {
namespace {

constexpr u32 kMaxCounterBits = 48;

template <class T>
ETHEREAL_INLINE T conjunction(const u64* planes, const u32* literals, u32 length) {
    constexpr size_t W = T::kWords;
    T all = T::load(planes + literals[0] * W);
    for (u32 i = 1; i < length; ++i) all = all & T::load(planes + literals[i] * W);
    return all;
}

// a + b + c of one bit each: the sum stays in a, the carry is returned.
template <class T>
ETHEREAL_INLINE T add(T& a, T b, T c) {
    const T carry = majority(a, b, c);
    a = parity(a, b, c);
    return carry;
}

// The outputs of terms, one after the other.
template <class T>
struct Terms {
    const u64* planes;
    const u32* length;
    const u32* literals;

    ETHEREAL_INLINE T next() {
        const u32 n = *length++;
        const T output = conjunction<T>(planes, literals, n);
        literals += n;
        return output;
    }
};

template <class T>
class Counter {
public:
    static constexpr size_t W = T::kWords;

    Counter(u32 n_bits, u64 start) : n_bits_(n_bits) {
        for (u32 b = 0; b < n_bits; ++b) {
            bits_[b] = T::fill((start >> b) & 1);
            is_waiting_[b] = false;
        }
    }

    // Adds 2^level for the rows in which `bit` is set. When it carries is known beforehand: it depends on how
    // often it was called, never on the data.
    void push(u32 level, T bit) {
        for (; level < n_bits_; ++level) {
            if (!is_waiting_[level]) {
                waiting_[level] = bit;
                is_waiting_[level] = true;
                return;
            }
            bit = add(bits_[level], waiting_[level], bit);
            is_waiting_[level] = false;
        }
    }

    // Adds the outputs of a group's terms.
    void add_group(const VoteGroup& group, const Program& model, const u64* planes) {
        Terms<T> terms{planes, model.lengths + group.first_term, model.literals + group.first_literal};
        const u32 level = group.level;  // counter_bits is at least level + 3
        T ones = bits_[level], twos = bits_[level + 1], fours = bits_[level + 2];
        u32 left = group.n_terms;
        for (; left >= 8; left -= 8) {
            T four[2];
            for (int half = 0; half < 2; ++half) {
                T t = terms.next();
                const T two_a = add(ones, t, terms.next());
                t = terms.next();
                const T two_b = add(ones, t, terms.next());
                four[half] = add(twos, two_a, two_b);
            }
            push(level + 3, add(fours, four[0], four[1]));
        }
        bits_[level] = ones;
        bits_[level + 1] = twos;
        bits_[level + 2] = fours;
        for (; left > 0; --left) push(level, terms.next());
    }

    void settle() {
        T carry = T::fill(false);
        for (u32 b = 0; b < n_bits_; ++b) {
            carry = add(bits_[b], is_waiting_[b] ? waiting_[b] : T::fill(false), carry);
            is_waiting_[b] = false;
        }
    }

    // -1 - number, modulo 2^n_bits.
    void complement() {
        for (u32 b = 0; b < n_bits_; ++b) bits_[b] = andnot(T::fill(true), bits_[b]);
    }

    T& operator[](u32 bit) { return bits_[bit]; }

private:
    u32 n_bits_;
    bool is_waiting_[kMaxCounterBits];
    T bits_[kMaxCounterBits];
    T waiting_[kMaxCounterBits];
};

// bias + class sum. Votes against are subtracted as x - y = ~(~x + y).
template <class T>
inline Counter<T> count_votes(const Program& model, u32 class_index, const u64* planes) {
    const ClassVotes votes = model.classes[class_index];
    Counter<T> counter(model.counter_bits, model.bias);
    for (u32 g = votes.first; g < votes.middle; ++g) counter.add_group(model.groups[g], model, planes);
    counter.settle();
    if (votes.middle != votes.last) {
        counter.complement();
        for (u32 g = votes.middle; g < votes.last; ++g) counter.add_group(model.groups[g], model, planes);
        counter.settle();
        counter.complement();
    }
    return counter;
}

template <class T>
inline void derive_negations(const Program& model, u64* planes) {
    constexpr size_t W = T::kWords;
    u64* out = planes + model.n_booleans * W;
    for (u32 i = 0; i < model.n_negated; ++i, out += W)
        andnot(T::fill(true), T::load(planes + model.negated[i] * W)).store(out);
}

template <class T>
inline void derive_shared_clauses(const Program& model, u64* planes) {
    constexpr size_t W = T::kWords;
    u64* out = planes + (size_t{model.n_booleans} + model.n_negated) * W;
    for (u32 i = 0; i < model.n_shared; ++i, out += W) {
        const ClauseSpan clause = model.clauses[model.shared[i]];
        conjunction<T>(planes, model.literals + clause.first_literal, clause.length).store(out);
    }
}

// 8 bits to 8 bytes of 0 or 1, bit 0 to the lowest byte.
inline u64 spread(u64 byte) {
    const u64 lanes = (byte * 0x0101010101010101u) & 0x8040201008040201u;
    return ((lanes + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
}

// The numbers of 8 rows, of which bit b is bit `row`.. of plane b: bytes[i] has bits 8i .. 8i + 7 of all 8.
inline void gather(const u64* planes, size_t words, u32 n_bits, u32 row, u64* bytes) {
    const u64* word = planes + row / 64;
    for (u32 b = 0; b < n_bits; ++b) {
        if (b % 8 == 0) bytes[b / 8] = 0;
        bytes[b / 8] |= spread((word[b * words] >> (row % 64)) & 0xff) << (b % 8);
    }
}

template <class T>
void predict(const Program& model, u64* planes, u32 rows, int64_t* winner) {
    constexpr size_t W = T::kWords;
    derive_negations<T>(model, planes);
    derive_shared_clauses<T>(model, planes);
    const u32 n_bits = model.counter_bits;
    Counter<T> best = count_votes<T>(model, 0, planes);
    u32 index_bits = 0;
    while ((uint64_t{model.n_classes - 1} >> index_bits) != 0) ++index_bits;
    T index[32];
    for (u32 b = 0; b < index_bits; ++b) index[b] = T::fill(false);
    for (u32 c = 1; c < model.n_classes; ++c) {
        Counter<T> sum = count_votes<T>(model, c, planes);
        T more = T::fill(false);  // strictly: a tie goes to the lower class
        for (u32 b = 0; b < n_bits; ++b) {
            const T differs = sum[b] ^ best[b];
            more = andnot(more, differs) | (sum[b] & differs);
        }
        for (u32 b = 0; b < n_bits; ++b) best[b] = best[b] ^ ((best[b] ^ sum[b]) & more);
        for (u32 b = 0; b < index_bits; ++b)
            index[b] = (c >> b) & 1 ? index[b] | more : andnot(index[b], more);
    }
    u64 index_planes[32 * W];
    for (u32 b = 0; b < index_bits; ++b) index[b].store(index_planes + b * W);
    u64 bytes[4] = {0, 0, 0, 0};
    for (u32 row = 0; row < rows; row += 8) {
        gather(index_planes, W, index_bits, row, bytes);
        const u32 n = rows - row < 8 ? rows - row : 8;
        if (index_bits <= 8)
            for (u32 i = 0; i < n; ++i) winner[row + i] = static_cast<int64_t>((bytes[0] >> (8 * i)) & 0xff);
        else
            for (u32 i = 0; i < n; ++i) {
                u64 value = 0;
                for (u32 k = 0; k < (index_bits + 7) / 8; ++k)
                    value |= ((bytes[k] >> (8 * i)) & 0xff) << (8 * k);
                winner[row + i] = static_cast<int64_t>(value);
            }
    }
}

template <class T>
void class_sums(const Program& model, u64* planes, u32 rows, int32_t* sums) {
    constexpr size_t W = T::kWords;
    derive_negations<T>(model, planes);
    derive_shared_clauses<T>(model, planes);
    const u32 n_bits = model.counter_bits < 32 ? model.counter_bits : 32;  // a class sum fits in 32
    const u32 bias = static_cast<u32>(model.bias);
    for (u32 c = 0; c < model.n_classes; ++c) {
        Counter<T> counter = count_votes<T>(model, c, planes);
        u64 number[32 * W];
        for (u32 b = 0; b < n_bits; ++b) counter[b].store(number + b * W);
        for (u32 row = 0; row < rows; row += 8) {
            u64 bytes[4] = {0, 0, 0, 0};
            gather(number, W, n_bits, row, bytes);
            int32_t* out = sums + size_t{row} * model.n_classes + c;
            const u32 n = rows - row < 8 ? rows - row : 8;
            for (u32 i = 0; i < n; ++i, out += model.n_classes) {
                const u32 shift = 8 * i;
                const u64 value = ((bytes[0] >> shift) & 0xff) | ((bytes[1] >> shift) & 0xff) << 8 |
                                  ((bytes[2] >> shift) & 0xff) << 16 | ((bytes[3] >> shift) & 0xff) << 24;
                *out = static_cast<int32_t>(static_cast<u32>(value) - bias);
            }
        }
    }
}

template <class T>
void clause_outputs(const Program& model, u64* planes, u32 rows, u8* outputs) {
    constexpr size_t W = T::kWords;
    derive_negations<T>(model, planes);
    u64 fired[8 * W];  // 8 clauses
    for (size_t j = 0; j < model.n_clauses; j += 8) {
        const size_t n = model.n_clauses - j < 8 ? model.n_clauses - j : 8;
        for (size_t k = 0; k < 8; ++k) {
            const ClauseSpan clause = k < n ? model.clauses[j + k] : ClauseSpan{0, 0};
            const T fires = clause.length == 0 ? T::fill(false)
                                               : conjunction<T>(planes, model.literals + clause.first_literal,
                                                                clause.length);
            fires.store(fired + k * W);
        }
        for (u32 row = 0; row < rows; row += 8) {
            u64 bytes;  // byte i: the 8 clauses on row i of 8
            gather(fired, W, 8, row, &bytes);
            for (u32 i = 0; i < 8 && row + i < rows; ++i) {
                const u64 bools = spread((bytes >> (8 * i)) & 0xff);
                std::memcpy(outputs + (row + i) * model.n_clauses + j, &bools, n);
            }
        }
    }
}

}  // namespace
}  // namespace ethereal
