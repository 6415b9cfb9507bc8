// Python's view of pruning. The arrays that come in belong to a checked Model; what could make the native
// code read or write out of bounds is checked here again.
#include "pruner_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "patch_binding.hpp"
#include "softmax_pruner.hpp"
#include "square_pruner.hpp"
#include "to_numpy.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using ethereal::LiteralPlanes;
using ethereal::Pruner;
using ethereal::SoftmaxPruner;
using ethereal::SquarePruner;
using ethereal::to_numpy;
using Booleans = nb::ndarray<const bool, nb::ndim<2>, nb::device::cpu>;
using Targets = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Literals = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Signs = nb::ndarray<const int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Votes = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using ethereal::ClauseRows;
using ethereal::PatchNumbers;
using ethereal::PatchShape;

LiteralPlanes planes_of(const Booleans& x) {
    if (x.shape(0) >= (uint64_t(1) << 32)) throw std::invalid_argument("booleans: too many rows");
    return {reinterpret_cast<const uint8_t*>(x.data()), x.shape(0), x.shape(1), x.stride(0), x.stride(1)};
}

// Whole rows, or rows for clauses over patches of a shape.
std::unique_ptr<ClauseRows> rows_of(const Booleans& x, const std::optional<PatchShape>& patch) {
    if (!patch) return std::make_unique<ethereal::WholeRows>(planes_of(x));
    if (x.shape(0) >= (uint64_t(1) << 32)) throw std::invalid_argument("booleans: too many rows");
    if (x.shape(1) != patch->row_booleans()) throw std::invalid_argument("booleans: not those of the patch");
    return std::make_unique<ethereal::PatchRows>(*patch, reinterpret_cast<const uint8_t*>(x.data()),
                                                 x.shape(0), x.stride(0), x.stride(1));
}

std::pair<std::vector<int32_t>, std::vector<int64_t>> clauses_of(const Literals& literals,
                                                                 const Offsets& offsets, size_t n_booleans) {
    const size_t n = offsets.shape(0);
    if (n < 1 || offsets(0) != 0 || offsets(n - 1) != int64_t(literals.shape(0)))
        throw std::invalid_argument("offsets must run from 0 to the number of literals");
    for (size_t j = 0; j + 1 < n; ++j)
        if (offsets(j) > offsets(j + 1)) throw std::invalid_argument("offsets must ascend");
    for (size_t i = 0; i < literals.shape(0); ++i)
        if (literals(i) < 0 || size_t(literals(i)) >= 2 * n_booleans)
            throw std::invalid_argument("literals: index out of range");
    return {{literals.data(), literals.data() + literals.shape(0)}, {offsets.data(), offsets.data() + n}};
}

// What both kinds of pruners must be given.
void check(const Booleans& booleans, size_t n_booleans, const Literals& features, size_t n_targets,
           const Offsets& offsets, const Votes& votes, double scale) {
    if (n_targets != booleans.shape(0) || votes.shape(0) + 1 != offsets.shape(0) || !(scale > 0))
        throw std::invalid_argument("Pruner: shapes do not agree, or scale is not positive");
    for (size_t c = 0; c < votes.shape(1); ++c) {  // sums and their differences have 32 bits
        int64_t total = 0;
        for (size_t j = 0; j < votes.shape(0); ++j) total += std::abs(int64_t(votes(j, c)));
        if (total > (int64_t(1) << 29))
            throw std::invalid_argument("the votes of class " + std::to_string(c) + " add up to " +
                                        std::to_string(total) +
                                        " in magnitude; pruning takes at most 2**29: scale the weights down");
    }
    if (features.shape(0) != n_booleans ||
        !std::is_sorted(features.data(), features.data() + features.shape(0)))
        throw std::invalid_argument("features must ascend, one for each Boolean");
}

void init(SoftmaxPruner* self, const Booleans& booleans, const Literals& features, const Targets& targets,
          const Literals& literals, const Offsets& offsets, const Votes& votes, double scale, uint64_t seed,
          const std::optional<PatchNumbers>& patch) {
    // The Booleans of clauses come with their features.
    const size_t n_booleans = patch ? features.shape(0) : booleans.shape(1);
    std::optional<PatchShape> shape;
    if (patch) shape = ethereal::patch_of(*patch, uint32_t(n_booleans));
    const auto [own_literals, own_offsets] = clauses_of(literals, offsets, n_booleans);
    if (votes.shape(1) != targets.shape(1) || targets.shape(1) < 1)
        throw std::invalid_argument("Pruner: shapes do not agree, or scale is not positive");
    check(booleans, n_booleans, features, targets.shape(0), offsets, votes, scale);
    new (self) SoftmaxPruner(rows_of(booleans, shape), targets.shape(1), targets.data(), features.data(),
                             own_literals, own_offsets, votes.data(), scale, seed);
}

void init_square(SquarePruner* self, const Booleans& booleans, const Literals& features,
                 const Numbers& targets, const Literals& literals, const Offsets& offsets, const Votes& votes,
                 double scale, uint64_t seed, const Signs& signs) {
    const auto [own_literals, own_offsets] = clauses_of(literals, offsets, booleans.shape(1));
    if (votes.shape(1) != 1 || signs.shape(0) % std::max<size_t>(1, 2 * booleans.shape(1)) != 0)
        throw std::invalid_argument("SquarePruner: one vote for each clause, one sign for each literal");
    check(booleans, booleans.shape(1), features, targets.shape(0), offsets, votes, scale);
    for (size_t j = 0; j < votes.shape(0); ++j)
        if (std::abs(int64_t(votes(j, 0))) > SquarePruner::kMostVote)
            throw std::invalid_argument("SquarePruner: a vote is beyond 127");
    for (size_t i = 0; i < targets.shape(0); ++i)
        if (!std::isfinite(targets(i))) throw std::invalid_argument("SquarePruner: a target is not finite");
    const size_t n_signs = signs.shape(0) == 2 * booleans.shape(1) ? signs.shape(0) : 0;
    for (size_t l = 0; l < n_signs; ++l)
        if (signs(l) < -1 || signs(l) > 1) throw std::invalid_argument("SquarePruner: a sign is -1, 0 or 1");
    new (self) SquarePruner(rows_of(booleans, std::nullopt), targets.data(), features.data(), own_literals,
                            own_offsets, votes.data(), scale, seed, {signs.data(), signs.data() + n_signs});
}

uint64_t sweep(Pruner& pruner, double price, const std::tuple<double, double, double, double, double>& size) {
    const auto [clause, literal, boolean, vote, doubling] = size;
    bool was_interrupted = false;
    uint64_t moves;
    {
        const nb::gil_scoped_release release;
        moves = pruner.sweep(price, {clause, literal, boolean, vote, doubling}, [&] {
            const nb::gil_scoped_acquire acquire;
            return was_interrupted = PyErr_CheckSignals() != 0;
        });
    }
    if (was_interrupted) throw nb::python_error();
    return moves;
}

}  // namespace

void bind_pruner(nb::module_& m) {
    m.def(
        "shorten",
        [](const Booleans& booleans, const Literals& literals, const Offsets& offsets) {
            auto [own_literals, own_offsets] = clauses_of(literals, offsets, booleans.shape(1));
            ethereal::shorten(planes_of(booleans), own_literals, own_offsets);
            return std::make_pair(to_numpy(std::move(own_literals)), to_numpy(std::move(own_offsets)));
        },
        "booleans"_a, "literals"_a, "offsets"_a,
        "Fewer literals per clause with the same outputs on these rows; returns literals and offsets.");

    // lock_self: as for the trainer.
    nb::class_<Pruner>(m, "_Pruner", "Coordinate descent on the loss on given rows plus the price of size.")
        .def("sweep", &sweep, "price"_a, "size"_a, nb::lock_self(),
             "Visit all clauses once; size: cost of a clause, literal, Boolean in use, vote, doubling of a "
             "vote.")
        .def_prop_ro("loss", &Pruner::loss, nb::lock_self())
        .def(
            "clauses",
            [](const Pruner& self) {
                std::vector<int32_t> literals, votes;
                std::vector<int64_t> offsets;
                self.read(literals, offsets, votes);
                return std::make_tuple(to_numpy(std::move(literals)), to_numpy(std::move(offsets)),
                                       to_numpy(std::move(votes)));
            },
            nb::lock_self());
    nb::class_<SoftmaxPruner, Pruner>(m, "Pruner", "The loss is the cross-entropy of shares of the classes.")
        .def("__init__", &init, "booleans"_a, "features"_a, "targets"_a, "literals"_a, "offsets"_a, "votes"_a,
             "scale"_a, "seed"_a, "patch"_a.none() = nb::none());
    nb::class_<SquarePruner, Pruner>(m, "SquarePruner", "The loss is half the squared error of a number.")
        .def("__init__", &init_square, "booleans"_a, "features"_a, "targets"_a, "literals"_a, "offsets"_a,
             "votes"_a, "scale"_a, "seed"_a, "signs"_a);
}
