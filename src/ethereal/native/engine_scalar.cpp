// The engine's kernels for any processor.
#include "engine_kernels_impl.hpp"

namespace ethereal {
const KernelSet kernels_scalar = make_kernel_set<4>();
}  // namespace ethereal
