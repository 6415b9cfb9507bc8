// Python's view of clauses over patches. What could make the native code read or write out of bounds is
// checked here, whoever checked it before.
#include "patch_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <vector>

#include "patch_engine.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using ethereal::PatchEngine;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Votes = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

void init(PatchEngine* self, const Vector<int32_t>& literals, const Vector<int64_t>& offsets,
          const Votes& weights, uint32_t n_booleans, const ethereal::PatchNumbers& numbers) {
    const ethereal::PatchShape patch = ethereal::patch_of(numbers, n_booleans);
    const size_t n = weights.shape(0);
    require(offsets.shape(0) == n + 1 && offsets(0) == 0 && offsets(n) == int64_t(literals.shape(0)),
            "offsets must run from 0 to the number of literals, with one more entry than there are clauses");
    for (size_t j = 0; j < n; ++j) require(offsets(j) <= offsets(j + 1), "offsets must ascend");
    for (size_t i = 0; i < literals.shape(0); ++i)
        require(literals(i) >= 0 && uint32_t(literals(i)) < 2 * n_booleans, "literals: out of range");
    new (self) PatchEngine(patch, {literals.data(), literals.data() + literals.shape(0)},
                           {offsets.data(), offsets.data() + n + 1},
                           {weights.data(), weights.data() + weights.size()}, weights.shape(1));
}

// `out` says what is wanted, as for `Engine`.
bool run_packed(const PatchEngine& engine, const Words& rows, const Output& out, size_t n_threads) {
    require(64 * rows.shape(1) >= engine.patch().row_booleans(), "rows: too few words for the Booleans");
    require(out.ndim() >= 1 && out.shape(0) == rows.shape(0), "out must have one row per row");
    const size_t width = out.ndim() == 2 ? out.shape(1) : 0;
    int64_t* winners = nullptr;
    int32_t* sums = nullptr;
    uint8_t* fires = nullptr;
    if (out.ndim() == 1 && out.dtype() == nb::dtype<int64_t>() && engine.n_classes())
        winners = static_cast<int64_t*>(out.data());
    else if (out.ndim() == 2 && width == engine.n_classes() && out.dtype() == nb::dtype<int32_t>())
        sums = static_cast<int32_t*>(out.data());
    else if (out.ndim() == 2 && width == engine.n_clauses() && out.dtype() == nb::dtype<bool>())
        fires = static_cast<uint8_t*>(out.data());
    else
        throw std::invalid_argument(
            "out must be int64 (rows), int32 (rows, classes) or bool (rows, clauses)");
    const nb::gil_scoped_release release;
    engine.run(rows.data(), rows.shape(1), rows.shape(0), n_threads, winners, sums, fires);
    return true;
}

}  // namespace

void bind_patches(nb::module_& m) {
    nb::class_<PatchEngine>(
        m, "PatchEngine", "Clauses over patches, for batch inference; immutable, for any number of threads.")
        .def("__init__", &init, "literals"_a, "offsets"_a, "weights"_a, "n_booleans"_a, "patch"_a,
             "`patch`: height and width of a row and of the patch, Booleans of a cell, and whether there are "
             "places.")
        .def("run_packed", &run_packed, "rows"_a, "out"_a.noconvert(), "n_threads"_a = 1,
             "Evaluate rows of bits, cell after cell, in words of 64.");
}
