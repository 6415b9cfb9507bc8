// An operator new whose n-th call fails, for LD_PRELOAD. Nothing fails until fail_at() was called.
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> left{-1};

extern "C" void fail_at(long n) { left = n; }
extern "C" long calls_left() { return left; }

static void* get(std::size_t size, std::size_t alignment) {
    if (left.load() > 0 && left.fetch_sub(1) == 1) throw std::bad_alloc();
    if (size == 0) size = 1;
    void* const p = alignment == 0 ? std::malloc(size)
                                   : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

void* operator new(std::size_t size) { return get(size, 0); }
void* operator new[](std::size_t size) { return get(size, 0); }
void* operator new(std::size_t size, std::align_val_t a) { return get(size, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return get(size, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
