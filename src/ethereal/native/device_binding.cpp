#include "device_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "block_counter.hpp"

namespace nb = nanobind;

void bind_device(nb::module_& m) {
    nb::class_<BlockCounter>(m, "BlockCounter")
        .def(
            "__init__",
            [](BlockCounter* self, const std::string& isa, std::uint64_t base, nb::bytes code) {
                if (isa != "thumb" && isa != "riscv")
                    throw std::invalid_argument("isa must be thumb or riscv");
                new (self)
                    BlockCounter(isa == "thumb" ? BlockCounter::Isa::thumb : BlockCounter::Isa::riscv, base,
                                 reinterpret_cast<const std::uint8_t*>(code.c_str()), code.size());
            },
            nb::arg("isa"), nb::arg("base"), nb::arg("code"))
        .def_prop_ro("total", &BlockCounter::total)
        .def("mix",
             [](const BlockCounter& self) {
                 return std::vector<std::uint64_t>(self.mix().begin(), self.mix().end());
             })
        .def(
            "enter",
            [](BlockCounter& self, std::uint64_t most, std::uintptr_t stop) {
                self.enter(most, reinterpret_cast<BlockCounter::Stop>(stop));
            },
            nb::arg("most"), nb::arg("stop"))
        .def("by_block", &BlockCounter::by_block)
        // Two addresses for Unicorn's uc_hook_add: the counter must live as long as the emulator uses it.
        .def_prop_ro(
            "callback",
            [](const BlockCounter&) { return reinterpret_cast<std::uintptr_t>(&BlockCounter::on_block); })
        .def_prop_ro("user_data", [](BlockCounter& self) { return reinterpret_cast<std::uintptr_t>(&self); });
}
