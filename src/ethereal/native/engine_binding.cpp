// Python's view of the instruction-set choice and of the batch inference engine.
#include "engine_binding.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "cpu.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_engine(nb::module_& m) {
  m.def("isa", [] { return std::string(ethereal::cpu::name(ethereal::cpu::isa())); },
        "Name of the instruction set in use.");
  m.def("set_isa", &ethereal::cpu::set_isa, "name"_a, "Use this instruction set from now on; 'auto' for the best.");
  m.def("available_isas", [] {
    std::vector<std::string> names;
    for (auto i : ethereal::cpu::available()) names.emplace_back(ethereal::cpu::name(i));
    return names;
  }, "Instruction sets this processor can run, the best last.");
}
