// Python's view of the instruction-set choice and of the batch inference engine.
#include "engine_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "cpu.hpp"
#include "engine.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using ethereal::Engine;
using ethereal::Number;
using ethereal::Rows;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;

Number number_of(nb::dlpack::dtype dtype, const char* what) {
    using Code = nb::dlpack::dtype_code;
    const auto code = static_cast<Code>(dtype.code);
    if (dtype.lanes == 1) {
        if (code == Code::Bool && dtype.bits == 8) return Number::Bool;
        if (code == Code::Float && dtype.bits == 32) return Number::F32;
        if (code == Code::Float && dtype.bits == 64) return Number::F64;
        const bool is_signed = code == Code::Int;
        if (is_signed || code == Code::UInt) switch (dtype.bits) {
                case 8: return is_signed ? Number::I8 : Number::U8;
                case 16: return is_signed ? Number::I16 : Number::U16;
                case 32: return is_signed ? Number::I32 : Number::U32;
                case 64: return is_signed ? Number::I64 : Number::U64;
                default: break;
            }
    }
    throw nb::type_error((std::string(what) + " has a dtype the engine does not read").c_str());
}

ptrdiff_t stride_bytes(int64_t stride, nb::dlpack::dtype dtype) {
    return static_cast<ptrdiff_t>(stride) * (dtype.bits / 8);
}

ethereal::Matrix matrix_of(const AnyMatrix& x) {
    return {static_cast<const uint8_t*>(x.data()), stride_bytes(x.stride(0), x.dtype()),
            stride_bytes(x.stride(1), x.dtype()), number_of(x.dtype(), "X"), nullptr};
}

void require(bool condition, const std::string& message) {
    if (!condition) throw std::invalid_argument(message);
}

std::string columns_message(size_t got, size_t wanted, const char* what) {
    return "X has " + std::to_string(got) + " columns; the model has " + std::to_string(wanted) + " " + what;
}

// `out` says what is wanted: int64 rows for the winners' indices, int32 rows x classes for class sums, bool
// rows x clauses for the clauses that fire.
bool run(const Engine& engine, const Rows& rows, const Output& out, unsigned n_threads) {
    require(out.ndim() >= 1 && out.shape(0) == rows.n, "out must have one row per row of X");
    n_threads = n_threads ? n_threads : 1;
    const size_t width = out.ndim() == 2 ? out.shape(1) : 0;
    void* const to = out.data();
    nb::gil_scoped_release release;
    if (out.ndim() == 1 && out.dtype() == nb::dtype<int64_t>())
        return engine.predict(rows, n_threads, static_cast<int64_t*>(to));
    if (out.ndim() == 2 && width == engine.n_classes() && out.dtype() == nb::dtype<int32_t>())
        return engine.class_sums(rows, n_threads, static_cast<int32_t*>(to));
    if (out.ndim() == 2 && width == engine.n_clauses() && out.dtype() == nb::dtype<bool>())
        return engine.clause_outputs(rows, n_threads, static_cast<uint8_t*>(to));
    throw std::invalid_argument("out must be int64 (rows), int32 (rows, classes) or bool (rows, clauses)");
}

bool run_bools(const Engine& engine, const AnyMatrix& x, const Output& out, unsigned n_threads) {
    require(x.shape(1) == engine.n_booleans(), columns_message(x.shape(1), engine.n_booleans(), "Booleans"));
    if (x.dtype().bits != 8) throw nb::type_error("X must hold Booleans, or bytes 0 and 1");
    return run(engine, {Rows::Kind::Bools, x.shape(0), matrix_of(x)}, out, n_threads);
}

bool run_packed(const Engine& engine, const AnyMatrix& x, const Output& out, unsigned n_threads) {
    const size_t width = x.dtype().bits / 8;
    require(x.size() == 0 || x.shape(1) <= 1 || x.stride(1) == 1,
            "the bits of a row must be contiguous in packed X");
    require(x.shape(1) * width * 8 >= engine.n_booleans(),
            "a row of packed X has " + std::to_string(x.shape(1) * width * 8) + " bits; the model has " +
                std::to_string(engine.n_booleans()) + " Booleans");
    return run(engine, {Rows::Kind::Packed, x.shape(0), matrix_of(x)}, out, n_threads);
}

bool run_raw(const Engine& engine, const AnyMatrix& x, const Output& out, unsigned n_threads) {
    require(engine.has_feature_map(), "this engine has no thresholds");
    require(x.shape(1) == engine.n_features(), columns_message(x.shape(1), engine.n_features(), "features"));
    return run(engine, {Rows::Kind::Raw, x.shape(0), matrix_of(x)}, out, n_threads);
}

bool run_columns(const Engine& engine, const std::vector<AnyColumn>& x, const Output& out,
                 unsigned n_threads) {
    require(engine.has_feature_map(), "this engine has no thresholds");
    require(x.size() == engine.n_features(), columns_message(x.size(), engine.n_features(), "features"));
    std::vector<ethereal::Column> columns;
    for (const AnyColumn& c : x) {
        require(c.shape(0) == x[0].shape(0), "all columns must have the same number of rows");
        columns.push_back({static_cast<const uint8_t*>(c.data()), stride_bytes(c.stride(0), c.dtype()),
                           number_of(c.dtype(), "a column of X")});
    }
    const size_t n = x.empty() ? out.shape(0) : x[0].shape(0);
    return run(engine, {Rows::Kind::Raw, n, {nullptr, 0, 0, Number::F64, columns.data()}}, out, n_threads);
}

ethereal::Clauses clauses_of(const Vector<int32_t>& literals, const Vector<int64_t>& offsets,
                             const Table<int32_t>& weights, uint32_t n_booleans) {
    const size_t n_clauses = weights.shape(0);
    require(offsets.shape(0) == n_clauses + 1, "offsets has " + std::to_string(offsets.shape(0)) +
                                                   " entries; " + std::to_string(n_clauses) +
                                                   " clauses need one more than that");
    require(offsets(n_clauses) == static_cast<int64_t>(literals.shape(0)),
            "offsets end at " + std::to_string(offsets(n_clauses)) + " but there are " +
                std::to_string(literals.shape(0)) + " literals");
    return {n_booleans,     static_cast<uint32_t>(weights.shape(1)),
            n_clauses,      literals.data(),
            offsets.data(), weights.data()};
}

template <class T, class Array>
std::vector<T> copy(const Array& array) {
    return {array.data(), array.data() + array.size()};
}

void init(Engine* self, const Vector<int32_t>& literals, const Vector<int64_t>& offsets,
          const Table<int32_t>& weights, uint32_t n_booleans) {
    new (self) Engine(clauses_of(literals, offsets, weights, n_booleans));
}

void init_with_feature_map(Engine* self, const Vector<int32_t>& literals, const Vector<int64_t>& offsets,
                           const Table<int32_t>& weights, uint32_t n_booleans,
                           const Vector<double>& thresholds, const Vector<float>& thresholds_float32,
                           const Vector<int64_t>& threshold_offsets, const Vector<int64_t>& boolean_offsets,
                           const Vector<bool>& missing, const Vector<bool>& binned,
                           const Vector<bool>& takes_missing) {
    ethereal::FeatureMap feature_map{copy<double>(thresholds),         copy<float>(thresholds_float32),
                                     copy<int64_t>(threshold_offsets), copy<int64_t>(boolean_offsets),
                                     copy<uint8_t>(missing),           copy<uint8_t>(binned),
                                     copy<uint8_t>(takes_missing)};
    new (self) Engine(clauses_of(literals, offsets, weights, n_booleans), std::move(feature_map));
}

}  // namespace

void bind_engine(nb::module_& m) {
    m.def(
        "isa", [] { return std::string(ethereal::cpu::name(ethereal::cpu::isa())); },
        "Name of the instruction set in use.");
    m.def("set_isa", &ethereal::cpu::set_isa, "name"_a,
          "Use this instruction set from now on; 'auto' for the best.");
    m.def(
        "available_isas",
        [] {
            std::vector<std::string> names;
            for (auto i : ethereal::cpu::available()) names.emplace_back(ethereal::cpu::name(i));
            return names;
        },
        "Instruction sets this processor can run, the best last.");

    nb::class_<Engine>(m, "Engine",
                       "A model compiled for batch inference; immutable, for any number of threads.")
        .def("__init__", &init, "literals"_a, "offsets"_a, "weights"_a, "n_booleans"_a)
        .def("__init__", &init_with_feature_map, "literals"_a, "offsets"_a, "weights"_a, "n_booleans"_a,
             "thresholds"_a, "thresholds_float32"_a, "threshold_offsets"_a, "boolean_offsets"_a, "missing"_a,
             "binned"_a, "takes_missing"_a)
        .def("run_bools", &run_bools, "X"_a, "out"_a.noconvert(), "n_threads"_a = 1)
        .def("run_packed", &run_packed, "X"_a, "out"_a.noconvert(), "n_threads"_a = 1)
        .def("run_raw", &run_raw, "X"_a, "out"_a.noconvert(), "n_threads"_a = 1)
        .def("run_columns", &run_columns, "columns"_a, "out"_a.noconvert(), "n_threads"_a = 1);
}
