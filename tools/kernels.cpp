// Trains, predicts and prunes with every instruction set of the processor and prints one hash for each:
// all must be equal, on this processor and on others. tools/neon.sh runs it on an emulated 64-bit ARM.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "clause_rows.hpp"
#include "cpu.hpp"
#include "engine.hpp"
#include "softmax_pruner.hpp"
#include "trainer.hpp"

using namespace ethereal;

namespace {

uint64_t hash_ = 0;

template <class T>
void add(const std::vector<T>& values) {
    for (const T value : values) hash_ = mix(hash_ + static_cast<uint64_t>(value) + 1);
}

void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

// Three classes, some epochs with exclusion between them, every kind of feedback.
void train(uint32_t n_clauses, uint32_t n_booleans, double s, bool boost, uint32_t budget, int T = 7,
           int n_epochs = 4) {
    constexpr size_t kRows = 150;
    Stream random(n_clauses, n_booleans, budget);
    std::vector<uint8_t> rows(kRows * n_booleans);
    std::vector<int32_t> classes(kRows);
    std::vector<double> weights(kRows);
    for (size_t r = 0; r < kRows; ++r) {
        classes[r] = static_cast<int32_t>(random.below(3));
        weights[r] = 0.25 * random.below(9);
        for (uint32_t b = 0; b < n_booleans; ++b)
            rows[r * n_booleans + b] = random.below(100) < (b % 3 == uint32_t(classes[r]) ? 80u : 30u);
    }
    Trainer trainer(3, 0, 3, n_clauses, n_booleans, {T, s, boost, budget}, 42, !boost);
    std::vector<uint64_t> literals(kRows * trainer.shape().words);
    pack_literals(rows.data(), kRows, n_booleans, n_booleans, 1, literals.data());
    std::vector<uint8_t> states(size_t{3} * n_clauses * 2 * n_booleans);
    for (int epoch = 0; epoch < n_epochs; ++epoch) {
        const double* const visits = epoch == 3 ? weights.data() : nullptr;
        check(trainer.epoch({literals.data(), classes.data(), visits, kRows}, 1, [] { return false; }),
              "an epoch was interrupted");
        trainer.read_states(states.data());
        add(states);
        if (epoch % 2 && epoch < 4) hash_ = mix(hash_ + trainer.exclude());
    }
    trainer.read_states(states.data());
    add(states);
}

template <class T>
void predict(const Engine& engine, const std::vector<T>& x, size_t n_rows, size_t n_columns, Rows::Kind kind,
             Number number, bool by_column) {
    const auto size = static_cast<ptrdiff_t>(sizeof(T));
    const ptrdiff_t row = by_column ? size : size * static_cast<ptrdiff_t>(n_columns);
    const ptrdiff_t column = by_column ? size * static_cast<ptrdiff_t>(n_rows) : size;
    const Rows rows{kind, n_rows, {reinterpret_cast<const uint8_t*>(x.data()), row, column, number, nullptr}};
    std::vector<int64_t> winner(n_rows);
    std::vector<int32_t> sums(n_rows * engine.n_classes());
    std::vector<uint8_t> outputs(n_rows * engine.n_clauses());
    const bool is_clean = engine.predict(rows, 1, winner.data());
    check(engine.class_sums(rows, 1, sums.data()) == is_clean, "the kernels disagree on what is allowed");
    check(engine.clause_outputs(rows, 1, outputs.data()) == is_clean, "the kernels disagree");
    hash_ = mix(hash_ + is_clean);
    if (!is_clean) return;
    add(winner);
    add(sums);
    add(outputs);
}

// A random model on Boolean, packed and raw rows of several types.
void infer(uint32_t n_features, size_t n_clauses, size_t n_rows) {
    Stream random(n_features, n_clauses, n_rows);
    FeatureMap feature_map;
    feature_map.threshold_offsets = feature_map.boolean_offsets = {0};
    for (uint32_t f = 0; f < n_features; ++f) {
        const uint32_t k = 1 + random.below(6);
        for (uint32_t i = 0; i < k; ++i) {
            feature_map.thresholds.push_back(10.0 * f + i * 1.5 - 20);  // whole or half: exact as float32
            feature_map.thresholds_float32.push_back(static_cast<float>(feature_map.thresholds.back()));
        }
        feature_map.missing.push_back(random.below(3) == 0);
        feature_map.binned.push_back(random.below(2) == 0);
        feature_map.takes_missing.push_back(1);
        feature_map.threshold_offsets.push_back(feature_map.threshold_offsets.back() + k);
        feature_map.boolean_offsets.push_back(feature_map.boolean_offsets.back() + k +
                                              feature_map.missing.back() + feature_map.binned.back());
    }
    const auto n_booleans = static_cast<uint32_t>(feature_map.boolean_offsets.back());
    std::vector<int32_t> literals, weights;
    std::vector<int64_t> offsets{0};
    for (size_t j = 0; j < n_clauses; ++j) {
        for (uint32_t i = random.below(9); i > 0; --i)
            literals.push_back(static_cast<int32_t>(random.below(2 * n_booleans)));
        offsets.push_back(static_cast<int64_t>(literals.size()));
        for (int c = 0; c < 4; ++c)
            weights.push_back(random.below(2) ? 0 : static_cast<int32_t>(random.below(15)) - 7);
    }
    const Clauses clauses{n_booleans, 4, n_clauses, literals.data(), offsets.data(), weights.data()};
    const Engine engine(clauses, feature_map);
    std::vector<double> f64(n_rows * n_features);
    std::vector<float> f32(f64.size());
    std::vector<int16_t> i16(f64.size());
    std::vector<uint8_t> bools(n_rows * n_booleans), packed(n_rows * ((n_booleans + 7) / 8));
    for (size_t i = 0; i < f64.size(); ++i) {
        f64[i] = random.below(20) ? 0.5 * random.below(20 * n_features) - 20 : std::nan("");
        f32[i] = static_cast<float>(f64[i]);
        i16[i] = static_cast<int16_t>(std::isnan(f64[i]) ? 3 : f64[i]);
    }
    for (auto& b : bools) b = random.below(3) == 0;
    for (auto& b : packed) b = static_cast<uint8_t>(random.next());
    for (const bool by_column : {false, true}) {
        predict(engine, f64, n_rows, n_features, Rows::Kind::Raw, Number::F64, by_column);
        predict(engine, f32, n_rows, n_features, Rows::Kind::Raw, Number::F32, by_column);
        predict(engine, i16, n_rows, n_features, Rows::Kind::Raw, Number::I16, by_column);
        predict(engine, bools, n_rows, n_booleans, Rows::Kind::Bools, Number::Bool, by_column);
    }
    predict(engine, packed, n_rows, (n_booleans + 7) / 8, Rows::Kind::Packed, Number::U8, false);
    bools[bools.size() / 2] = 2;  // not allowed, and all must say so
    predict(engine, bools, n_rows, n_booleans, Rows::Kind::Bools, Number::Bool, false);
}

// Random clauses on rows whose label depends on three features, pruned at rising prices. What is hashed is
// the pruned machine, a discrete result: exp and log come from the C library, whose last bit is its own.
void prune(size_t n_rows, uint32_t n_features, size_t n_clauses, size_t n_classes) {
    constexpr uint32_t kBooleans = 4;  // of each feature: a thermometer
    Stream random(n_features, n_clauses, n_rows);
    const uint32_t n_booleans = n_features * kBooleans;
    std::vector<uint8_t> booleans(n_rows * n_booleans);
    std::vector<float> targets(n_rows * n_classes);
    for (size_t r = 0; r < n_rows; ++r) {
        uint32_t total = 0;
        for (uint32_t f = 0; f < n_features; ++f) {
            const uint32_t level = random.below(kBooleans + 1);
            if (f < 3) total += level;
            for (uint32_t b = 0; b < kBooleans; ++b) booleans[r * n_booleans + f * kBooleans + b] = level > b;
        }
        const size_t label = (random.below(10) ? total / 3 : random.below(7)) % n_classes;
        for (size_t c = 0; c < n_classes; ++c)  // shares that are not exact in binary
            targets[r * n_classes + c] = (c == label ? 0.9f : 0.1f / static_cast<float>(n_classes - 1));
    }
    std::vector<int32_t> features, literals, votes;
    for (uint32_t b = 0; b < n_booleans; ++b) features.push_back(static_cast<int32_t>(b / kBooleans));
    std::vector<int64_t> offsets{0};
    for (size_t j = 0; j < n_clauses; ++j) {
        for (uint32_t f = 0; f < n_features; ++f)  // ascending: a plain literal of some of the features
            if (random.below(n_features) < 3)
                literals.push_back(static_cast<int32_t>(f * kBooleans + random.below(kBooleans)));
        offsets.push_back(static_cast<int64_t>(literals.size()));
        for (size_t c = 0; c < n_classes; ++c)
            votes.push_back(random.below(3) ? 0 : static_cast<int32_t>(random.below(9)) - 4);
    }
    LiteralPlanes planes(booleans.data(), n_rows, n_booleans, static_cast<ptrdiff_t>(n_booleans), 1);
    SoftmaxPruner pruner(std::make_unique<WholeRows>(std::move(planes)), n_classes, targets.data(),
                         features.data(), literals, offsets, votes.data(), 0.2, 42);
    for (const double price : {0.0, 0.01, 0.05, 0.2, 1.0}) {
        hash_ = mix(hash_ + pruner.sweep(price, {8, 5.3, 2, 4.1, 1}, [] { return false; }));
        pruner.read(literals, offsets, votes);
        add(literals);
        add(offsets);
        add(votes);
        hash_ = mix(hash_ + static_cast<uint64_t>(std::llround(1000 * pruner.loss())));
    }
}

}  // namespace

int main() {
    for (const cpu::Isa isa : cpu::available()) {
        cpu::set_isa(cpu::name(isa));
        hash_ = 0;
        for (const uint32_t n_clauses : {2u, 10u, 34u, 130u})
            for (const uint32_t n_booleans : {1u, 31u, 45u, 160u})
                for (const double s : {1.0, 3.0, 7.3})
                    for (const bool boost : {false, true})
                        train(n_clauses, n_booleans, s, boost, boost ? 9999 : 3);
        train(10, 31, 1.0, false, 9999, 1000, 20);  // down to the lowest state
        train(4, 2, 30.0, true, 9999, 1000, 60);    // up to the highest
        for (const uint32_t n_features : {1u, 7u, 60u})
            for (const size_t n_clauses : {size_t{1}, size_t{40}, size_t{300}})
                for (const size_t n_rows : {size_t{1}, size_t{63}, size_t{64}, size_t{200}, size_t{1500}})
                    infer(n_features, n_clauses, n_rows);
        for (const uint32_t n_features : {3u, 12u})
            for (const size_t n_clauses : {size_t{20}, size_t{120}})
                for (const size_t n_classes : {size_t{2}, size_t{5}})
                    prune(700, n_features, n_clauses, n_classes);
        std::printf("%016llx %s\n", static_cast<unsigned long long>(hash_), cpu::name(isa));
    }
    return 0;
}
