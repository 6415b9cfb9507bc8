#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace ethereal {

// Calls work(0) to work(n - 1) in n threads, this one among them. Where the system has no more threads or no
// more memory for them, fewer threads do all of the work. What a call throws is thrown here, once all ended.
template <class Work>
void in_threads(size_t n, const Work& work) {
    std::atomic<size_t> next{0};
    std::vector<std::exception_ptr> failures(n);
    const auto take = [&] {
        for (size_t i; (i = next.fetch_add(1)) < n;) try {
                work(i);
            } catch (...) {
                failures[i] = std::current_exception();
            }
    };
    std::vector<std::thread> threads;
    threads.reserve(n);
    try {
        while (threads.size() + 1 < n) threads.emplace_back(take);
    } catch (const std::exception&) {
        // Those that started, and this one, do the work.
    }
    take();
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace ethereal
