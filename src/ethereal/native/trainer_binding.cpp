// Python's view of the trainer. The arrays that come in were checked in classifier.py; what could make the
// native code read or write out of bounds is checked here again.
#include "trainer_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "patch_binding.hpp"
#include "to_numpy.hpp"
#include "trainer.hpp"

namespace nb = nanobind;

namespace {

using ethereal::patch_of;
using ethereal::PatchNumbers;
using ethereal::to_numpy;
using ethereal::Trainer;
using Packed = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Booleans = nb::ndarray<const bool, nb::ndim<2>, nb::device::cpu>;
using Votes = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Weighted, shared, negated, focused, dropped clauses and dropped literals: see Variant.
using VariantNumbers = std::tuple<bool, bool, bool, bool, double, double>;
using States = nb::ndarray<const uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void epoch(Trainer& trainer, const Packed& rows, const Labels& classes, const std::optional<Weights>& weights,
           uint32_t n_threads) {
    const size_t n = rows.shape(0);
    if (rows.shape(1) != trainer.row_words()) throw std::invalid_argument("rows: wrong number of words");
    if (classes.shape(0) != n || (weights && weights->shape(0) != n))
        throw std::invalid_argument("rows, classes and weights differ in length");
    if (n >= (uint64_t(1) << 31)) throw std::invalid_argument("more than 2**31 - 1 rows in one epoch");
    double visits = 0;
    for (size_t i = 0; i < n && weights; ++i) {
        const double w = weights->data()[i];
        if (!(w >= 0)) throw std::invalid_argument("weights: negative or not a number");
        visits += w;
    }
    if (visits >= double(uint64_t(1) << 31)) throw std::invalid_argument("weights: 2**31 visits or more");
    for (size_t i = 0; i < n; ++i)
        if (classes.data()[i] < 0 || uint32_t(classes.data()[i]) >= trainer.all_classes())
            throw std::invalid_argument("classes: index out of range");

    bool done;
    {
        const nb::gil_scoped_release release;
        done = trainer.epoch({rows.data(), classes.data(), weights ? weights->data() : nullptr, n}, n_threads,
                             [] {
                                 const nb::gil_scoped_acquire acquire;
                                 return PyErr_CheckSignals() != 0;
                             });
    }
    if (!done) throw nb::python_error();  // as raised by the signal's handler, most often KeyboardInterrupt
}

}  // namespace

void bind_trainer(nb::module_& m) {
    // lock_self: on free-threaded Python calls on one trainer take turns, as the global lock makes them do.
    nb::class_<Trainer> trainer(m, "Trainer");
    trainer
        .def(
            "__init__",
            [](Trainer* self, uint32_t n_classes, uint32_t n_clauses, uint32_t n_booleans, int32_t T,
               double s, bool boost_true_positive, uint32_t literal_budget, uint64_t seed,
               std::optional<std::pair<uint32_t, uint32_t>> only, bool random_start,
               const std::optional<PatchNumbers>& patch, const std::optional<VariantNumbers>& variant) {
                const auto [first, end] = only.value_or(std::make_pair(0u, n_classes));
                if (n_classes < 2 || n_clauses < 1 || n_booleans < 1 || T < 1 || !(s >= 1) || first >= end ||
                    end > n_classes)
                    throw std::invalid_argument("Trainer: parameter out of range");
                // Far beyond any memory, but sizes computed from these still fit their types.
                if (n_booleans > (1u << 24) || n_clauses > (1u << 24) || n_classes > (1u << 24) ||
                    double(n_classes) * n_clauses * n_booleans > double(uint64_t(1) << 46))
                    throw std::invalid_argument("Trainer: too many classes, clauses or Booleans");
                std::optional<ethereal::PatchShape> shape;
                if (patch) shape = patch_of(*patch, n_booleans);
                ethereal::Variant v;
                if (variant)
                    std::tie(v.weighted, v.shared, v.negated, v.focused, v.drop_clauses, v.drop_literals) =
                        *variant;
                if (!(v.drop_clauses >= 0 && v.drop_clauses < 1 && v.drop_literals >= 0 &&
                      v.drop_literals < 1) ||
                    (v.focused && 2.0 * n_classes * T >= double(uint64_t(1) << 32)) ||
                    (v.shared && double(n_classes) * n_clauses > double(uint64_t(1) << 32)))
                    throw std::invalid_argument("Trainer: variant out of range");
                new (self) Trainer(n_classes, first, end - first, n_clauses, n_booleans,
                                   {T, s, boost_true_positive, literal_budget, v}, seed, random_start, shape);
            },
            nb::kw_only(), nb::arg("n_classes"), nb::arg("n_clauses"), nb::arg("n_booleans"), nb::arg("T"),
            nb::arg("s"), nb::arg("boost_true_positive"), nb::arg("literal_budget"), nb::arg("seed"),
            nb::arg("only").none() = nb::none(), nb::arg("random_start") = false,
            nb::arg("patch").none() = nb::none(), nb::arg("variant").none() = nb::none(),
            "`only`: the classes held, from the first on up to the second. `random_start`: automata begin "
            "just below or just above the middle, else all below. `patch`: as in PatchEngine. `variant`: "
            "whether weighted, shared, with negated literals, focused; shares of clauses and literals that "
            "an epoch drops.")
        .def("epoch", &epoch, nb::arg("rows"), nb::arg("classes"), nb::arg("weights").none(),
             nb::arg("n_threads"), nb::lock_self(),
             "Train one epoch on packed rows; Ctrl-C leaves the automata as they were before it.")
        .def("exclude", &Trainer::exclude, nb::call_guard<nb::gil_scoped_release>(), nb::lock_self(),
             "Take out the literals that clauses of both polarities of a class include; returns how many "
             "includes.")
        .def("undo_exclusion", &Trainer::undo_exclusion, nb::lock_self(),
             "Take back the exclusions since the last epoch.")
        .def_prop_rw("epochs_done", &Trainer::epochs_done, &Trainer::set_epochs_done, nb::lock_self())
        .def_prop_ro("n_includes", &Trainer::n_includes, nb::lock_self())
        .def(
            "clauses",
            [](const Trainer& self) {
                std::vector<int32_t> literals;
                std::vector<int64_t> offsets;
                {
                    const nb::gil_scoped_release release;
                    self.read_clauses(literals, offsets);
                }
                return std::make_pair(to_numpy(std::move(literals)), to_numpy(std::move(offsets)));
            },
            nb::lock_self())
        .def_prop_rw(
            "states",
            [](const Trainer& self) {
                const auto& s = self.shape();
                std::unique_ptr<uint8_t[]> out(new uint8_t[size_t(s.n_classes) * s.n_clauses * s.n_literals]);
                self.read_states(out.get());
                return to_numpy(std::move(out), {s.n_classes, s.n_clauses, s.n_literals});
            },
            [](Trainer& self, const States& in) {
                const auto& s = self.shape();
                if (in.shape(0) != s.n_classes || in.shape(1) != s.n_clauses || in.shape(2) != s.n_literals)
                    throw std::invalid_argument("states: wrong shape");
                self.write_states(in.data());
            },
            nb::for_getter(nb::rv_policy::move), nb::lock_self());

    trainer.def_prop_rw(
        "votes",
        [](const Trainer& self) {
            std::unique_ptr<int32_t[]> out(new int32_t[self.n_votes() * self.shape().n_clauses]);
            self.read_votes(out.get());
            return to_numpy(std::move(out), {self.n_votes(), self.shape().n_clauses});
        },
        [](Trainer& self, const Votes& in) {
            if (in.shape(0) != self.n_votes() || in.shape(1) != self.shape().n_clauses)
                throw std::invalid_argument("votes: wrong shape");
            for (size_t i = 0; i < in.size(); ++i)
                if (in.data()[i] < -ethereal::kLargestVote || in.data()[i] > ethereal::kLargestVote)
                    throw std::invalid_argument("votes: out of range");
            self.write_votes(in.data());
        },
        nb::for_getter(nb::rv_policy::move), nb::lock_self(),
        "Of each class's clauses for it, or of the shared clauses for each class. No rows where they do not "
        "learn.");

    m.def(
        "pack_literals",
        [](const Booleans& booleans) {
            const size_t n = booleans.shape(0), f = booleans.shape(1), words = (2 * f + 63) / 64;
            std::unique_ptr<uint64_t[]> out(new uint64_t[n * words]);
            {
                const nb::gil_scoped_release release;
                ethereal::pack_literals(reinterpret_cast<const uint8_t*>(booleans.data()), n, f,
                                        ptrdiff_t(booleans.stride(0)), ptrdiff_t(booleans.stride(1)),
                                        out.get());
            }
            return to_numpy(std::move(out), {n, words});
        },
        nb::arg("booleans"),
        "Rows x Booleans to rows x words of literal bits: the Booleans, then their negations.");
}
