#include "trainer.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "bits.hpp"
#include "cpu.hpp"
#include "threads.hpp"

namespace ethereal {

namespace {

using Clock = std::chrono::steady_clock;

// An epoch shorter than this is finished rather than undone when the user interrupts.
constexpr double kShortEpoch = 0.3;  // seconds
constexpr auto kPoll = std::chrono::milliseconds(50);

// Streams of an epoch: one per bank from 0 on, one for the order of rows, and one for the dropped literals.
constexpr uint64_t kOrderStream = ~uint64_t(0), kDropStream = ~uint64_t(1);
// Stands for the epoch where automata start at random. The votes of shared clauses take a class's number
// from the end.
constexpr uint64_t kStart = ~uint64_t(0);

const TrainFunctions& train_functions() {
    switch (cpu::isa()) {
#if ETHEREAL_X86
        case cpu::Isa::Avx512: return train_avx512;
        case cpu::Isa::Avx2: return train_avx2;
#elif ETHEREAL_ARM64
        case cpu::Isa::Neon: return train_neon;
#endif
        default: return train_scalar;
    }
}

}  // namespace

// A copy of the automata outside of memory proper (an unnamed temporary file), so that training needs one
// byte per automaton; in memory where there is no room for a file.
class Trainer::Undo {
public:
    Undo(const AlignedVector<int8_t>& states, const std::vector<int32_t>& votes)
        : file_(std::tmpfile()), votes_(votes) {
        if (file_ && std::fwrite(states.data(), 1, states.size(), file_) == states.size() &&
            !std::fflush(file_))
            return;
        close();
        copy_.assign(states.begin(), states.end());
    }
    ~Undo() { close(); }
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;

    void restore(AlignedVector<int8_t>& states, std::vector<int32_t>& votes) {
        votes = votes_;
        if (file_) {
            std::rewind(file_);
            if (std::fread(states.data(), 1, states.size(), file_) != states.size())
                throw std::runtime_error("cannot read back the automata saved before the interrupted epoch");
        } else {
            std::copy(copy_.begin(), copy_.end(), states.begin());
        }
    }

private:
    void close() {
        if (file_) std::fclose(file_);
        file_ = nullptr;
    }
    std::FILE* file_;
    std::vector<int8_t> copy_;
    std::vector<int32_t> votes_;
};

Trainer::Trainer(uint32_t n_classes, uint32_t first, uint32_t held, uint32_t n_clauses, uint32_t n_booleans,
                 const Feedback& feedback, uint64_t seed, bool random_start,
                 const std::optional<PatchShape>& patch)
    : shape_{feedback.variant.shared ? 1 : held, n_clauses, 2 * n_booleans, (2 * n_booleans + 63) / 64,
             (n_clauses + 7) / 8 * 8},
      patch_(patch),
      feedback_(feedback),
      all_classes_(n_classes),
      first_class_(first),
      seed_(seed),
      random_start_(random_start),
      states_(size_t(shape_.n_classes) * shape_.states_per_class()),
      includes_(size_t(shape_.n_classes) * shape_.include_words_per_class()),
      votes_(feedback.variant.has_votes() ? size_t(held) * shape_.lanes : 0) {
    if (feedback.variant.is_joint() && held != n_classes)
        throw std::invalid_argument("Trainer: this machine cannot hold a part of the classes");
    start();
}

void Trainer::start() {
    std::fill(states_.begin(), states_.end(), int8_t(-128));
    const size_t length = shape_.padded_literals();
    const Variant& variant = feedback_.variant;
    for (uint32_t c = 0; c < shape_.n_classes; ++c) {
        Stream stream(seed_, kStart, first_class_ + c);
        int8_t* clause = automata(c).states;
        for (uint32_t j = 0; j < shape_.n_clauses; ++j, clause += length) {
            uint64_t bits = 0;
            for (uint32_t i = 0; i < shape_.n_literals; ++i, bits >>= 1) {
                if (random_start_ && i % 64 == 0) bits = stream.next();
                clause[i] = int8_t(bits & 1 & (variant.negated || i < shape_.n_literals / 2)) - 1;
            }
        }
    }
    for (size_t c = 0; c < n_votes(); ++c) {
        Stream stream(seed_, kStart, ~uint64_t(c));
        for (uint32_t j = 0; j < shape_.n_clauses; ++j)
            votes_[c * shape_.lanes + j] =
                (variant.shared ? stream.next() & 1 : j < shape_.positive()) ? 1 : -1;
    }
    derive_includes();
    fresh_ = true;
}

ClassAutomata Trainer::automata(uint32_t c) {
    return {states_.data() + c * shape_.states_per_class(),
            includes_.data() + c * shape_.include_words_per_class(),
            votes_.empty() ? nullptr : votes_.data() + c * shape_.lanes};
}

std::vector<uint32_t> Trainer::draw_order(const TrainingRows& rows, Stream& stream) const {
    std::vector<uint32_t> order;
    order.reserve(rows.n_rows);
    for (size_t i = 0; i < rows.n_rows; ++i) {
        // a fractional weight is a visit with that probability
        const double visits = rows.weights ? rows.weights[i] + stream.uniform() : 1;
        for (uint64_t n = uint64_t(visits); n > 0; --n) order.push_back(uint32_t(i));
    }
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(uint32_t(i))]);
    return order;
}

std::vector<std::vector<uint32_t>> Trainer::draw_events(const TrainingRows& rows) const {
    Stream stream(seed_, epochs_done_, kOrderStream);
    const std::vector<uint32_t> order = draw_order(rows, stream);
    const auto held = [&](uint32_t c) { return c - first_class_; };  // wraps around below: not held either
    std::vector<std::vector<uint32_t>> events(shape_.n_classes);
    std::vector<size_t> expected(shape_.n_classes, order.size() / (all_classes_ - 1) + 1024);
    for (uint32_t row : order) {
        const uint32_t c = held(uint32_t(rows.classes[row]));
        if (c < shape_.n_classes) ++expected[c];
    }
    for (uint32_t c = 0; c < shape_.n_classes; ++c) events[c].reserve(expected[c]);
    for (uint32_t row : order) {
        const uint32_t own = uint32_t(rows.classes[row]);
        uint32_t other = stream.below(all_classes_ - 1);
        other += other >= own;
        if (held(own) < shape_.n_classes) events[held(own)].push_back(row << 1 | 1);
        if (held(other) < shape_.n_classes) events[held(other)].push_back(row << 1);
    }
    return events;
}

std::vector<uint64_t> Trainer::idle_literals() const {
    const Variant& variant = feedback_.variant;
    std::vector<uint64_t> idle;
    if (variant.negated && variant.drop_literals == 0) return idle;
    idle.resize(shape_.words);
    Stream stream(seed_, epochs_done_, kDropStream);
    for (uint32_t i = 0; i < shape_.n_literals; ++i) {
        const bool dropped = variant.drop_literals > 0 && stream.uniform() < variant.drop_literals;
        if (dropped || (!variant.negated && i >= shape_.n_literals / 2))
            idle[i / 64] |= uint64_t(1) << (i % 64);
    }
    return idle;
}

std::vector<uint64_t> Trainer::planes_of(const TrainingRows& rows, uint32_t n_threads) const {
    std::vector<uint64_t> planes;
    if (!patch_) return planes;
    planes.resize(rows.n_rows * patch_->row_words());
    const size_t n_parts = std::max(1u, n_threads);
    in_threads(n_parts, [&](size_t part) {
        for (size_t r = rows.n_rows * part / n_parts; r < rows.n_rows * (part + 1) / n_parts; ++r)
            fill_planes(*patch_, rows.literals + r * row_words(), planes.data() + r * patch_->row_words());
    });
    return planes;
}

void Trainer::learn_jointly(const Feedback& feedback, const LearningRows& view, const TrainingRows& rows,
                            const std::atomic<bool>& stop) {
    Stream others(seed_, epochs_done_, kOrderStream);
    const std::vector<uint32_t> order = draw_order(rows, others);
    std::vector<ClassAutomata> banks;
    std::vector<Stream> streams;
    for (uint32_t c = 0; c < shape_.n_classes; ++c) {
        banks.push_back(automata(c));
        streams.emplace_back(seed_, epochs_done_, c);
    }
    train_functions().jointly(shape_, feedback, view, banks.data(),
                              {order.data(), order.size(), rows.classes, all_classes_}, streams.data(),
                              others, stop);
}

bool Trainer::epoch(const TrainingRows& rows, uint32_t n_threads, const std::function<bool()>& interrupted) {
    const auto begin = Clock::now();
    const bool is_joint = feedback_.variant.is_joint();
    const auto events = is_joint ? std::vector<std::vector<uint32_t>>(1) : draw_events(rows);
    // Longest first, as the last epoch took or else by their events, so that the threads end together.
    std::vector<uint32_t> classes(events.size());
    std::iota(classes.begin(), classes.end(), 0u);
    const auto cost = [&](uint32_t c) {
        return class_seconds_.empty() ? double(events[c].size()) : class_seconds_[c];
    };
    std::stable_sort(classes.begin(), classes.end(),
                     [&](uint32_t a, uint32_t b) { return cost(a) > cost(b); });
    std::vector<double> seconds(classes.size());

    const bool is_short = last_epoch_seconds_ >= 0 && last_epoch_seconds_ < kShortEpoch;
    const bool was_fresh = fresh_;
    std::unique_ptr<Undo> undo;
    if (!is_short && !was_fresh) undo = std::make_unique<Undo>(states_, votes_);
    fresh_ = false;

    const std::vector<uint64_t> planes = planes_of(rows, n_threads), idle = idle_literals();
    const LearningRows view{patch_ ? &*patch_ : nullptr, rows.literals, row_words(), planes.data()};
    Feedback feedback = feedback_;
    feedback.idle = idle.empty() ? nullptr : idle.data();
    std::atomic<uint32_t> next{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::condition_variable finished;
    int running = 0;  // threads
    std::exception_ptr failure;

    const auto work = [&] {
        try {
            for (uint32_t i; (i = next.fetch_add(1)) < classes.size();) {
                const uint32_t c = classes[i];
                const auto start = Clock::now();
                if (is_joint)
                    learn_jointly(feedback, view, rows, stop);
                else
                    train_functions().apart(shape_, feedback, view, automata(c),
                                            {events[c].data(), events[c].size()},
                                            Stream(seed_, epochs_done_, first_class_ + c), stop);
                seconds[c] = std::chrono::duration<double>(Clock::now() - start).count();
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            failure = std::current_exception();
        }
        const std::lock_guard<std::mutex> lock(mutex);
        if (--running == 0) finished.notify_one();
    };
    std::vector<std::thread> threads;
    const uint32_t wanted = std::max(1u, std::min<uint32_t>(n_threads, uint32_t(classes.size())));
    threads.reserve(wanted);
    const auto count = [&](int change) {
        const std::lock_guard<std::mutex> lock(mutex);
        running += change;
    };
    try {
        while (threads.size() < wanted) {
            count(1);
            threads.emplace_back(work);
        }
    } catch (const std::exception&) {
        // No more threads or memory to be had: those that started do the work, or else this one.
        count(threads.empty() ? 0 : -1);
        if (threads.empty()) work();
    }
    bool was_interrupted = false;
    {
        std::unique_lock<std::mutex> lock(mutex);
        while (!finished.wait_for(lock, kPoll, [&] { return running == 0; })) {
            lock.unlock();
            if (!was_interrupted && interrupted()) {
                was_interrupted = true;
                if (!is_short) stop = true;
            }
            lock.lock();
        }
    }
    for (std::thread& t : threads) t.join();
    if (stop || failure) {
        if (was_fresh) {
            start();
        } else if (undo) {
            undo->restore(states_, votes_);
            undo_exclusion();
        }
        if (failure) std::rethrow_exception(failure);
        return false;
    }
    lowered_.clear();
    ++epochs_done_;
    class_seconds_ = std::move(seconds);
    last_epoch_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
    return !was_interrupted;
}

uint64_t Trainer::exclude() {
    const size_t before = lowered_.size();
    const size_t length = shape_.padded_literals();
    const uint32_t n = shape_.n_clauses, half = shape_.positive();
    for (uint32_t c = 0; c < shape_.n_classes; ++c) {
        const ClassAutomata a = automata(c);
        const size_t first = c * shape_.states_per_class();
        for (size_t w = 0; w < shape_.words; ++w) {
            uint64_t* const includes = a.includes + w * shape_.lanes;
            uint64_t positive = 0, negative = 0;
            for (uint32_t j = 0; j < half; ++j) positive |= includes[j];
            for (uint32_t j = half; j < n; ++j) negative |= includes[j];
            const uint64_t shared = positive & negative;
            if (!shared) continue;
            for (uint32_t j = 0; j < n; ++j)
                for (uint64_t left = includes[j] & shared; left; left &= left - 1)
                    lowered_.push_back(first + j * length + 64 * w + ctz(left));
            for (uint32_t j = 0; j < n; ++j) includes[j] &= ~shared;
        }
    }
    for (size_t i = before; i < lowered_.size(); ++i)
        states_[lowered_[i]] = int8_t(states_[lowered_[i]] - 128);
    return lowered_.size() - before;
}

void Trainer::undo_exclusion() {
    for (size_t i : lowered_) states_[i] = int8_t(states_[i] + 128);
    lowered_.clear();
    derive_includes();
}

uint64_t Trainer::n_includes() const {
    uint64_t n = 0;
    for (uint64_t w : includes_) n += popcount(w);
    return n;
}

void Trainer::derive_includes() {
    std::fill(includes_.begin(), includes_.end(), 0);
    const size_t length = shape_.padded_literals();
    for (uint32_t c = 0; c < shape_.n_classes; ++c) {
        const ClassAutomata a = automata(c);
        for (uint32_t j = 0; j < shape_.n_clauses; ++j)
            for (uint32_t i = 0; i < shape_.n_literals; ++i)
                a.includes[i / 64 * shape_.lanes + j] |= uint64_t(a.states[j * length + i] >= 0) << (i % 64);
    }
}

void Trainer::read_states(uint8_t* out) const {
    for (size_t i = 0; i < states_.size(); i += shape_.padded_literals())
        for (uint32_t l = 0; l < shape_.n_literals; ++l) *out++ = uint8_t(states_[i + l] + 128);
}

void Trainer::write_states(const uint8_t* in) {
    for (size_t i = 0; i < states_.size(); i += shape_.padded_literals())
        for (uint32_t l = 0; l < shape_.n_literals; ++l) states_[i + l] = int8_t(int32_t(*in++) - 128);
    derive_includes();
    lowered_.clear();
    fresh_ = false;
}

void Trainer::read_votes(int32_t* out) const {
    for (size_t c = 0; c < n_votes(); ++c)
        out = std::copy_n(votes_.data() + c * shape_.lanes, shape_.n_clauses, out);
}

void Trainer::write_votes(const int32_t* in) {
    for (size_t c = 0; c < n_votes(); ++c, in += shape_.n_clauses)
        std::copy_n(in, shape_.n_clauses, votes_.data() + c * shape_.lanes);
    fresh_ = false;
}

void Trainer::read_clauses(std::vector<int32_t>& literals, std::vector<int64_t>& offsets) const {
    literals.clear();
    literals.reserve(n_includes());
    offsets.assign(1, 0);
    for (uint32_t c = 0; c < shape_.n_classes; ++c) {
        const uint64_t* includes = includes_.data() + c * shape_.include_words_per_class();
        for (uint32_t j = 0; j < shape_.n_clauses; ++j) {
            for (uint32_t w = 0; w < shape_.words; ++w)
                for (uint64_t left = includes[w * shape_.lanes + j]; left; left &= left - 1)
                    literals.push_back(int32_t(64 * w + ctz(left)));
            offsets.push_back(int64_t(literals.size()));
        }
    }
}

void pack_literals(const uint8_t* booleans, size_t n_rows, size_t n_booleans, ptrdiff_t row_stride,
                   ptrdiff_t column_stride, uint64_t* out) {
    const size_t words = (2 * n_booleans + 63) / 64;
    std::fill_n(out, n_rows * words, 0);
    for (size_t r = 0; r < n_rows; ++r, out += words) {
        const uint8_t* value = booleans + ptrdiff_t(r) * row_stride;
        for (size_t f = 0; f < n_booleans; ++f, value += column_stride) {
            const size_t literal = *value ? f : n_booleans + f;
            out[literal / 64] |= uint64_t(1) << (literal % 64);
        }
    }
}

}  // namespace ethereal
