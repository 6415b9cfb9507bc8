// Python's view of fitting votes. What could make the native code read out of bounds is checked here.
#include "vote_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "ridge.hpp"
#include "to_numpy.hpp"
#include "vote_fitting.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using ethereal::Ridge;
using ethereal::VoteFitting;
using Outputs = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Signs = nb::ndarray<const int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
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

template <typename Given>
void check_ridge(const Given& given, const Weights& weights) {
    const size_t n = given.shape(0);
    if (weights.shape(0) != n || given.shape(1) >= (uint64_t(1) << 16))
        throw std::invalid_argument("Ridge: one weight for each row, and fewer than 65536 clauses");
    double total = 0;
    for (size_t i = 0; i < n; ++i) {
        if (!(weights(i) >= 0)) throw std::invalid_argument("Ridge: a weight is out of range");
        total += weights(i);
    }
    if (!(total > 0) || std::isinf(total))
        throw std::invalid_argument("Ridge: the weights have no finite sum");
}

void init_ridge(Ridge* self, const Outputs& outputs, const Weights& weights) {
    check_ridge(outputs, weights);
    const size_t n = outputs.shape(0), m = outputs.shape(1);
    const nb::gil_scoped_release release;
    new (self) Ridge(reinterpret_cast<const uint8_t*>(outputs.data()), n, m, weights.data());
}

void init_ridge_of_numbers(Ridge* self, const Numbers& numbers, const Weights& weights) {
    check_ridge(numbers, weights);
    const nb::gil_scoped_release release;
    new (self) Ridge(numbers.data(), numbers.shape(0), numbers.shape(1), weights.data());
}

void check_strength(double strength) {
    if (!(strength > 0) || std::isinf(strength)) throw std::invalid_argument("strength must be positive");
}

void aim(Ridge& self, const Weights& targets) {
    if (targets.shape(0) != self.n_rows()) throw std::invalid_argument("Ridge: one target for each row");
    self.aim(targets.data());
}

auto ridge_votes(const Ridge& self, double strength, const Signs& signs) {
    check_strength(strength);
    if (signs.shape(0) != self.n_clauses()) throw std::invalid_argument("Ridge: one sign for each clause");
    std::vector<double> votes;
    {
        const nb::gil_scoped_release release;
        votes = self.votes(strength, signs.data());
    }
    const double offset = self.offset(votes);
    return std::make_pair(ethereal::to_numpy(std::move(votes)), offset);
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
    nb::class_<Ridge>(m, "Ridge", "Ridge regression on the outputs of clauses.")
        .def("__init__", &init_ridge, "outputs"_a, "weights"_a)
        .def("__init__", &init_ridge_of_numbers, "numbers"_a, "weights"_a)
        .def("aim", &aim, "targets"_a, nb::lock_self(), "Take a target for each row. It comes first.")
        .def(
            "fit",
            [](const Ridge& self, double strength) {
                check_strength(strength);
                const Ridge::Fit fit = self.fit(strength);
                return std::make_pair(fit.squares, fit.freedom);
            },
            "strength"_a, nb::lock_self(), "The sum of squared residuals, and degrees of freedom.")
        .def("votes", &ridge_votes, "strength"_a, "signs"_a, nb::lock_self(),
             "Votes of clauses with these signs, 0 for any, and the offset.");
}
