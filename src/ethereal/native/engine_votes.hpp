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

template <int N>
ETHEREAL_INLINE Tile<N> conjunction(const u64* planes, const u32* literals, u32 length) {
    constexpr size_t W = Tile<N>::kWords;
    Tile<N> all = load_tile<N>(planes + literals[0] * W);
    for (u32 i = 1; i < length; ++i) all = all & load_tile<N>(planes + literals[i] * W);
    return all;
}

// a + b + c of one bit each: the sum stays in a, the carry is returned.
template <int N>
ETHEREAL_INLINE Tile<N> add(Tile<N>& a, Tile<N> b, Tile<N> c) {
    const Tile<N> carry = majority(a, b, c);
    a = parity(a, b, c);
    return carry;
}

// The outputs of terms, one after the other.
template <int N>
struct Terms {
    const u64* planes;
    const u32* length;
    const u32* literals;

    ETHEREAL_INLINE Tile<N> next() {
        const u32 n = *length++;
        const Tile<N> output = conjunction<N>(planes, literals, n);
        literals += n;
        return output;
    }
};

template <int N>
class Counter {
public:
    static constexpr size_t W = Tile<N>::kWords;

    Counter(u32 n_bits, u64 start) : n_bits_(n_bits) {
        for (u32 b = 0; b < n_bits; ++b) {
            bits_[b] = fill_tile<N>((start >> b) & 1);
            is_waiting_[b] = false;
        }
    }

    // Adds 2^level for the rows in which `bit` is set. When it carries is known beforehand: it depends on how
    // often it was called, never on the data.
    void push(u32 level, Tile<N> bit) {
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
        Terms<N> terms{planes, model.lengths + group.first_term, model.literals + group.first_literal};
        const u32 level = group.level;  // counter_bits is at least level + 3
        Tile<N> ones = bits_[level], twos = bits_[level + 1], fours = bits_[level + 2];
        u32 left = group.n_terms;
        for (; left >= 8; left -= 8) {
            Tile<N> four[2];
            for (int half = 0; half < 2; ++half) {
                Tile<N> t = terms.next();
                const Tile<N> two_a = add(ones, t, terms.next());
                t = terms.next();
                const Tile<N> two_b = add(ones, t, terms.next());
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
        Tile<N> carry = fill_tile<N>(false);
        for (u32 b = 0; b < n_bits_; ++b) {
            carry = add(bits_[b], is_waiting_[b] ? waiting_[b] : fill_tile<N>(false), carry);
            is_waiting_[b] = false;
        }
    }

    // -1 - number, modulo 2^n_bits.
    void complement() {
        for (u32 b = 0; b < n_bits_; ++b) bits_[b] = andnot(fill_tile<N>(true), bits_[b]);
    }

    Tile<N>& operator[](u32 bit) { return bits_[bit]; }

private:
    u32 n_bits_;
    bool is_waiting_[kMaxCounterBits];
    Tile<N> bits_[kMaxCounterBits];
    Tile<N> waiting_[kMaxCounterBits];
};

// bias + class sum. Votes against are subtracted as x - y = ~(~x + y).
template <int N>
inline Counter<N> count_votes(const Program& model, u32 class_index, const u64* planes) {
    const ClassVotes votes = model.classes[class_index];
    Counter<N> counter(model.counter_bits, model.bias);
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

template <int N>
inline void derive_negations(const Program& model, u64* planes) {
    constexpr size_t W = Tile<N>::kWords;
    u64* out = planes + model.n_booleans * W;
    for (u32 i = 0; i < model.n_negated; ++i, out += W)
        store_tile<N>(out, andnot(fill_tile<N>(true), load_tile<N>(planes + model.negated[i] * W)));
}

template <int N>
inline void derive_shared_clauses(const Program& model, u64* planes) {
    constexpr size_t W = Tile<N>::kWords;
    u64* out = planes + (size_t{model.n_booleans} + model.n_negated) * W;
    for (u32 i = 0; i < model.n_shared; ++i, out += W) {
        const ClauseSpan clause = model.clauses[model.shared[i]];
        store_tile<N>(out, conjunction<N>(planes, model.literals + clause.first_literal, clause.length));
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

template <int N>
void predict(const Program& model, u64* planes, u32 rows, int64_t* winner) {
    constexpr size_t W = Tile<N>::kWords;
    derive_negations<N>(model, planes);
    derive_shared_clauses<N>(model, planes);
    const u32 n_bits = model.counter_bits;
    Counter<N> best = count_votes<N>(model, 0, planes);
    u32 index_bits = 0;
    while ((uint64_t{model.n_classes - 1} >> index_bits) != 0) ++index_bits;
    Tile<N> index[32];
    for (u32 b = 0; b < index_bits; ++b) index[b] = fill_tile<N>(false);
    for (u32 c = 1; c < model.n_classes; ++c) {
        Counter<N> sum = count_votes<N>(model, c, planes);
        Tile<N> more = fill_tile<N>(false);  // strictly: a tie goes to the lower class
        for (u32 b = 0; b < n_bits; ++b) {
            const Tile<N> differs = sum[b] ^ best[b];
            more = andnot(more, differs) | (sum[b] & differs);
        }
        for (u32 b = 0; b < n_bits; ++b) best[b] = best[b] ^ ((best[b] ^ sum[b]) & more);
        for (u32 b = 0; b < index_bits; ++b)
            index[b] = (c >> b) & 1 ? index[b] | more : andnot(index[b], more);
    }
    u64 index_planes[32 * W];
    for (u32 b = 0; b < index_bits; ++b) store_tile<N>(index_planes + b * W, index[b]);
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

template <int N>
void class_sums(const Program& model, u64* planes, u32 rows, int32_t* sums) {
    constexpr size_t W = Tile<N>::kWords;
    derive_negations<N>(model, planes);
    derive_shared_clauses<N>(model, planes);
    const u32 n_bits = model.counter_bits < 32 ? model.counter_bits : 32;  // a class sum fits in 32
    const u32 bias = static_cast<u32>(model.bias);
    for (u32 c = 0; c < model.n_classes; ++c) {
        Counter<N> counter = count_votes<N>(model, c, planes);
        u64 number[32 * W];
        for (u32 b = 0; b < n_bits; ++b) store_tile<N>(number + b * W, counter[b]);
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

template <int N>
void clause_outputs(const Program& model, u64* planes, u32 rows, u8* outputs) {
    constexpr size_t W = Tile<N>::kWords;
    derive_negations<N>(model, planes);
    u64 fired[8 * W];  // 8 clauses
    for (size_t j = 0; j < model.n_clauses; j += 8) {
        const size_t n = model.n_clauses - j < 8 ? model.n_clauses - j : 8;
        for (size_t k = 0; k < 8; ++k) {
            const ClauseSpan clause = k < n ? model.clauses[j + k] : ClauseSpan{0, 0};
            store_tile<N>(fired + k * W,
                          clause.length == 0
                              ? fill_tile<N>(false)
                              : conjunction<N>(planes, model.literals + clause.first_literal, clause.length));
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
