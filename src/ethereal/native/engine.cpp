#include "engine.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>

#include "aligned.hpp"
#include "cpu.hpp"
#include "threads.hpp"

namespace ethereal {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// A vote of a clause for a class: +2^level or -2^level.
struct Vote {
    uint32_t class_index, is_against, level, length, clause;

    bool operator<(const Vote& o) const {
        if (class_index != o.class_index) return class_index < o.class_index;
        if (is_against != o.is_against) return is_against < o.is_against;
        if (level != o.level) return level < o.level;
        return length < o.length;  // neighbours of equal length: the processor foresees the end of each
    }
};

// Signed binary digits of a weight with the fewest that are not zero (7 = 8 - 1).
struct Digits {
    uint64_t plus, minus;
    explicit Digits(int32_t weight) {
        const uint64_t x = weight < 0 ? 0 - static_cast<uint64_t>(weight) : static_cast<uint64_t>(weight);
        const uint64_t half = x >> 1, sum = x + half, changed = half ^ sum;
        plus = sum & changed;
        minus = half & changed;
        if (weight < 0) std::swap(plus, minus);
    }
};

void check(const Clauses& m) {
    auto fail = [](const std::string& message) { throw std::invalid_argument(message); };
    if (m.n_classes == 0) fail("weights has 0 classes; a model needs at least one");
    if (m.n_booleans > (1u << 30)) fail("n_booleans is " + std::to_string(m.n_booleans) + "; at most 2**30");
    if (m.n_clauses > (1u << 30))
        fail("the model has " + std::to_string(m.n_clauses) + " clauses; at most 2**30");
    if (m.offsets[0] != 0) fail("offsets[0] is " + std::to_string(m.offsets[0]) + "; it must be 0");
    for (size_t j = 0; j < m.n_clauses; ++j)
        if (m.offsets[j + 1] < m.offsets[j])
            fail("offsets must not descend, but do after clause " + std::to_string(j));
    const auto n_literals = int64_t{2} * m.n_booleans;
    for (int64_t i = 0; i < m.offsets[m.n_clauses]; ++i)
        if (m.literals[i] < 0 || m.literals[i] >= n_literals)
            fail("literals[" + std::to_string(i) + "] is " + std::to_string(m.literals[i]) +
                 "; it must be from 0 to " + std::to_string(n_literals - 1));
    for (uint32_t c = 0; c < m.n_classes; ++c) {
        uint64_t total = 0;
        for (size_t j = 0; j < m.n_clauses; ++j) {
            const int64_t w = m.weights[j * m.n_classes + c];
            total += static_cast<uint64_t>(w < 0 ? -w : w);
        }
        if (total > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
            fail("the weights of class " + std::to_string(c) + " add up to " + std::to_string(total) +
                 " in magnitude; class sums are 32-bit, so at most 2147483647");
    }
}

// Memory of one thread for planes and scratch, kept between calls: a single row is then predicted without
// malloc.
struct Workspace {
    AlignedVector<uint64_t> memory;

    uint64_t* get(size_t n_words) {
        if (memory.size() < n_words) memory.resize(n_words);
        return memory.data();
    }
};

const KernelSet& kernels_for(cpu::Isa isa) {
    switch (isa) {
#if ETHEREAL_X86
        case cpu::Isa::Avx2: return kernels_avx2;
        case cpu::Isa::Avx512: return kernels_avx512;
#endif
#if ETHEREAL_ARM64
        case cpu::Isa::Neon: return kernels_neon;
#endif
        default: return kernels_scalar;
    }
}

// Planes of a wide block that stay in a second-level cache of 512 kB beside the rows.
constexpr size_t kWideBytes = 256 * 1024;
// A thread is worth starting for this much work, in literals x rows (some 50 microseconds).
constexpr double kWorkPerThread = 1e7;

}  // namespace

Engine::Engine(const Clauses& clauses, FeatureMap feature_map) : feature_map_(std::move(feature_map)) {
    check(clauses);
    compile(clauses);
    if (!has_feature_map()) return;
    const size_t n = feature_map_.missing.size();
    if (feature_map_.boolean_offsets.size() != n + 1 || feature_map_.threshold_offsets.size() != n + 1 ||
        feature_map_.binned.size() != n || feature_map_.takes_missing.size() != n ||
        feature_map_.thresholds.size() != feature_map_.thresholds_float32.size() ||
        feature_map_.threshold_offsets[n] != static_cast<int64_t>(feature_map_.thresholds.size()) ||
        feature_map_.boolean_offsets[n] != clauses.n_booleans)
        throw std::invalid_argument("the feature map's arrays do not fit each other or n_booleans");
    for (size_t f = 0; f < n; ++f) {
        const auto k = feature_map_.threshold_offsets[f + 1] - feature_map_.threshold_offsets[f];
        if (k < 0 || feature_map_.boolean_offsets[f + 1] - feature_map_.boolean_offsets[f] !=
                         k + (feature_map_.binned[f] ? 1 : 0) + (feature_map_.missing[f] ? 1 : 0))
            throw std::invalid_argument("boolean_offsets do not fit the thresholds of feature " +
                                        std::to_string(f));
    }
    std::vector<uint8_t> boolean_used(clauses.n_booleans, 0);
    for (int64_t i = 0; i < clauses.offsets[clauses.n_clauses]; ++i)
        boolean_used[static_cast<uint32_t>(clauses.literals[i]) % clauses.n_booleans] = 1;
    used_.resize(n);
    for (size_t f = 0; f < n; ++f)
        used_[f] = std::any_of(boolean_used.begin() + feature_map_.boolean_offsets[f],
                               boolean_used.begin() + feature_map_.boolean_offsets[f + 1],
                               [](auto u) { return u != 0; });
    raw_ = {static_cast<uint32_t>(n),
            feature_map_.thresholds.data(),
            feature_map_.thresholds_float32.data(),
            feature_map_.threshold_offsets.data(),
            feature_map_.boolean_offsets.data(),
            feature_map_.missing.data(),
            feature_map_.binned.data(),
            used_.data(),
            feature_map_.takes_missing.data()};
}

void Engine::compile(const Clauses& m) {
    // Planes of the literals: Booleans first, then the negations that occur.
    std::vector<uint32_t> plane_of(size_t{2} * m.n_booleans, kNone);
    for (uint32_t b = 0; b < m.n_booleans; ++b) plane_of[b] = b;
    for (int64_t i = 0; i < m.offsets[m.n_clauses]; ++i) {
        uint32_t& plane = plane_of[static_cast<uint32_t>(m.literals[i])];
        if (plane != kNone) continue;
        plane = m.n_booleans + static_cast<uint32_t>(negated_.size());
        negated_.push_back(static_cast<uint32_t>(m.literals[i]) - m.n_booleans);
    }
    literals_.reserve(static_cast<size_t>(m.offsets[m.n_clauses]));
    clauses_.resize(m.n_clauses);
    auto add_literals = [&](size_t clause) {
        clauses_[clause] = {literals_.size(),
                            static_cast<uint32_t>(m.offsets[clause + 1] - m.offsets[clause])};
        for (auto i = m.offsets[clause]; i < m.offsets[clause + 1]; ++i)
            literals_.push_back(plane_of[static_cast<uint32_t>(m.literals[i])]);
    };

    // Votes of the clauses; one that votes more than once gets a plane of its own and is one literal in each
    // vote.
    std::vector<Vote> votes;
    std::vector<uint32_t> shared_plane(m.n_clauses, kNone);
    uint64_t most_against = 0, most_for = 0;
    std::vector<uint64_t> sum_for(m.n_classes, 0), sum_against(m.n_classes, 0);
    uint32_t top_level = 0;
    for (size_t j = 0; j < m.n_clauses; ++j) {
        const auto length = static_cast<uint32_t>(m.offsets[j + 1] - m.offsets[j]);
        if (length == 0) continue;  // an empty clause never votes
        const size_t first = votes.size();
        for (uint32_t c = 0; c < m.n_classes; ++c) {
            const int32_t weight = m.weights[j * m.n_classes + c];
            if (weight == 0) continue;
            const Digits digits(weight);
            for (uint32_t level = 0; ((digits.plus | digits.minus) >> level) != 0; ++level) {
                const bool is_for = (digits.plus >> level) & 1, is_against = (digits.minus >> level) & 1;
                if (!is_for && !is_against) continue;
                votes.push_back({c, is_against, level, length, static_cast<uint32_t>(j)});
                (is_for ? sum_for : sum_against)[c] += uint64_t{1} << level;
                top_level = std::max(top_level, level);
            }
        }
        if (votes.size() - first == 0) add_literals(j);
        if (votes.size() - first > 1) {
            shared_plane[j] = m.n_booleans + static_cast<uint32_t>(negated_.size() + shared_.size());
            shared_.push_back(static_cast<uint32_t>(j));
            add_literals(j);
            for (size_t v = first; v < votes.size(); ++v) votes[v].length = 1;
        }
    }
    std::sort(votes.begin(), votes.end());
    lengths_.reserve(votes.size());
    classes_.resize(m.n_classes);
    size_t v = 0;
    for (uint32_t c = 0; c < m.n_classes; ++c) {
        classes_[c].first = static_cast<uint32_t>(groups_.size());
        for (uint32_t against = 0; against < 2; ++against) {
            if (against) classes_[c].middle = static_cast<uint32_t>(groups_.size());
            while (v < votes.size() && votes[v].class_index == c && votes[v].is_against == against) {
                VoteGroup group{votes[v].level, 0, lengths_.size(), literals_.size()};
                for (; v < votes.size() && votes[v].class_index == c && votes[v].is_against == against &&
                       votes[v].level == group.level;
                     ++v, ++group.n_terms) {
                    lengths_.push_back(votes[v].length);
                    if (shared_plane[votes[v].clause] == kNone)
                        add_literals(votes[v].clause);
                    else
                        literals_.push_back(shared_plane[votes[v].clause]);
                }
                groups_.push_back(group);
            }
        }
        classes_[c].last = static_cast<uint32_t>(groups_.size());
        most_against = std::max(most_against, sum_against[c]);
        most_for = std::max(most_for, sum_for[c]);
    }
    uint32_t counter_bits = top_level + 3;  // the adder tree works on three bits at once
    while ((most_against + most_for) >> counter_bits) ++counter_bits;
    program_ = {m.n_booleans,
                static_cast<uint32_t>(negated_.size()),
                static_cast<uint32_t>(shared_.size()),
                m.n_classes,
                m.n_clauses,
                literals_.data(),
                negated_.data(),
                clauses_.data(),
                shared_.data(),
                lengths_.data(),
                groups_.data(),
                classes_.data(),
                counter_bits,
                most_against};
}

bool Engine::predict(const Rows& rows, unsigned n_threads, int64_t* winner) const {
    return run(rows, n_threads, {winner, nullptr, nullptr});
}

bool Engine::class_sums(const Rows& rows, unsigned n_threads, int32_t* sums) const {
    return run(rows, n_threads, {nullptr, sums, nullptr});
}

bool Engine::clause_outputs(const Rows& rows, unsigned n_threads, uint8_t* outputs) const {
    return run(rows, n_threads, {nullptr, nullptr, outputs});
}

bool Engine::run_blocks(const Kernels& k, const Rows& rows, size_t first, size_t last, Output output) const {
    thread_local Workspace workspace;
    const size_t n_planes = size_t{program_.n_booleans} + program_.n_negated + program_.n_shared;
    uint64_t* const planes = workspace.get(n_planes * k.words + k.scratch_bytes(program_.n_booleans) / 8 + 1);
    auto* const scratch = reinterpret_cast<uint8_t*>(planes + n_planes * k.words);
    const size_t step = size_t{64} * k.words;
    Matrix matrix = rows.matrix;
    bool clean = true;
    for (size_t row = first; row < last; row += step) {
        const auto n = static_cast<uint32_t>(std::min(step, last - row));
        matrix.data = rows.matrix.data + static_cast<ptrdiff_t>(row) * rows.matrix.row_stride;
        switch (rows.kind) {
            case Rows::Kind::Bools: clean &= k.bools(matrix, n, program_.n_booleans, planes, scratch); break;
            case Rows::Kind::Packed:
                k.packed(matrix.data, matrix.row_stride, n, program_.n_booleans, planes, scratch);
                break;
            case Rows::Kind::Raw: clean &= k.raw(rows.matrix, row, n, raw_, planes); break;
        }
        if (output.winner)
            k.predict(program_, planes, n, output.winner + row);
        else if (output.sums)
            k.class_sums(program_, planes, n, output.sums + row * program_.n_classes);
        else
            k.clause_outputs(program_, planes, n, output.clauses + row * program_.n_clauses);
    }
    return clean;
}

bool Engine::run(const Rows& rows, unsigned n_threads, Output output) const {
    const KernelSet& set = kernels_for(cpu::isa());
    const size_t n_planes = size_t{program_.n_booleans} + program_.n_negated + program_.n_shared;
    const bool is_wide =
        rows.n > size_t{64} * set.narrow.words && n_planes * set.wide.words * 8 <= kWideBytes;
    const Kernels& k = rows.n <= 64 ? set.single : is_wide ? set.wide : set.narrow;
    const size_t step = size_t{64} * k.words, n_blocks = (rows.n + step - 1) / step;
    const double work = static_cast<double>(rows.n) * static_cast<double>(literals_.size() + n_planes);
    const size_t n = std::max<size_t>(
        1, std::min({size_t{n_threads}, n_blocks, static_cast<size_t>(work / kWorkPerThread)}));
    if (n == 1) return run_blocks(k, rows, 0, rows.n, output);

    // Each thread takes the next chunk of blocks, so that one that is held up does not hold up the rest.
    const size_t chunk = std::max<size_t>(1, std::min<size_t>(64, n_blocks / (4 * n))) * step;
    std::atomic<size_t> next{0};
    std::atomic<bool> clean{true};
    in_threads(n, [&](size_t) {
        for (size_t first = next.fetch_add(chunk); first < rows.n; first = next.fetch_add(chunk))
            if (!run_blocks(k, rows, first, std::min(first + chunk, rows.n), output)) clean = false;
    });
    return clean;
}

}  // namespace ethereal
