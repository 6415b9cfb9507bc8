// Python's view of the native core: thin, arrays in and arrays out.
#include <nanobind/nanobind.h>

#include "device_binding.hpp"
#include "engine_binding.hpp"
#include "patch_binding.hpp"
#include "pruner_binding.hpp"
#include "trainer_binding.hpp"
#include "vote_binding.hpp"
#include "window_binding.hpp"

NB_MODULE(_native, m) {
    m.doc() = "Hot loops of ethereal: training, batch inference, pruning, bit packing.";
    bind_device(m);
    bind_engine(m);
    bind_patches(m);
    bind_pruner(m);
    bind_trainer(m);
    bind_votes(m);
    bind_window(m);
}
