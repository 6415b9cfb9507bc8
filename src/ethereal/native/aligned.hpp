// A vector whose data starts on a cache line.
//
// Code that is compiled once per instruction set passes a Tag of its own (a type local to the translation
// unit), so that the linker never takes the member functions of one set for those of another.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace ethereal {

template <class T, class Tag>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};
    CacheLineAllocator() = default;
    template <class U>
    struct rebind {
        using other = CacheLineAllocator<U, Tag>;
    };
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U, Tag>&) {}
    T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
    void deallocate(T* p, size_t) { ::operator delete(p, kLine); }
    template <class U>
    bool operator==(const CacheLineAllocator<U, Tag>&) const {
        return true;
    }
    template <class U>
    bool operator!=(const CacheLineAllocator<U, Tag>&) const {
        return false;
    }
};

template <class T, class Tag = void>
using AlignedVector = std::vector<T, CacheLineAllocator<T, Tag>>;

}  // namespace ethereal
