// Python's view of the native core: thin, arrays in and arrays out.
#include <nanobind/nanobind.h>

NB_MODULE(_native, m) { m.doc() = "Hot loops of ethereal: training, batch inference, bit packing."; }
