// Python's view of fitting votes. What could make the native code read out of bounds is checked here.
#include "vote_binding.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "to_numpy.hpp"
#include "vote_fitting.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using ethereal::VoteFitting;
using Outputs = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void init(VoteFitting* self, const Outputs& outputs, const Labels& labels, const Weights& weights,
          size_t n_classes) {
    const size_t n = outputs.shape(0);
    if (labels.shape(0) != n || weights.shape(0) != n || n_classes < 1 || n >= (uint64_t(1) << 32) ||
        outputs.shape(1) >= (uint64_t(1) << 32))
        throw std::invalid_argument("VoteFitting: shapes do not agree");
    for (size_t i = 0; i < n; ++i)
        if (labels(i) < 0 || size_t(labels(i)) >= n_classes || !(weights(i) >= 0) || std::isinf(weights(i)))
            throw std::invalid_argument("VoteFitting: a label or weight is out of range");
    new (self) VoteFitting(reinterpret_cast<const uint8_t*>(outputs.data()), n, outputs.shape(1),
                           labels.data(), weights.data(), n_classes);
}

void fit(VoteFitting& self, double strength, size_t iterations) {
    if (!(strength > 0) || std::isinf(strength)) throw std::invalid_argument("strength must be positive");
    bool was_interrupted = false;
    {
        const nb::gil_scoped_release release;
        self.fit(strength, iterations, [&] {
            const nb::gil_scoped_acquire acquire;
            return was_interrupted = PyErr_CheckSignals() != 0;
        });
    }
    if (was_interrupted) throw nb::python_error();
}

}  // namespace

void bind_votes(nb::module_& m) {
    // lock_self: as for the trainer.
    nb::class_<VoteFitting>(m, "VoteFitting", "Logistic regression on the outputs of clauses.")
        .def("__init__", &init, "outputs"_a, "labels"_a, "weights"_a, "n_classes"_a)
        .def("fit", &fit, "strength"_a, "iterations"_a, nb::lock_self(), "Go on from the votes as they are.")
        .def(
            "votes", [](const VoteFitting& self) { return ethereal::to_numpy(self.votes()); },
            nb::lock_self(), "The votes, flattened from clauses x classes.");
}
