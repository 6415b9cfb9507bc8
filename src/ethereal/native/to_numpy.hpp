// Results as numpy arrays that own their memory: nothing is copied.
#pragma once
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace ethereal {

template <class T>
nanobind::ndarray<nanobind::numpy, T> to_numpy(std::unique_ptr<T[]> data,
                                               std::initializer_list<size_t> shape) {
    T* const p = data.release();
    const nanobind::capsule owner(p, [](void* q) noexcept { delete[] static_cast<T*>(q); });
    return nanobind::ndarray<nanobind::numpy, T>(p, shape, owner);
}

template <class T>
nanobind::ndarray<nanobind::numpy, T> to_numpy(std::vector<T>&& values) {
    auto* const v = new std::vector<T>(std::move(values));
    const nanobind::capsule owner(v, [](void* q) noexcept { delete static_cast<std::vector<T>*>(q); });
    return nanobind::ndarray<nanobind::numpy, T>(v->data(), {v->size()}, owner);
}

}  // namespace ethereal
