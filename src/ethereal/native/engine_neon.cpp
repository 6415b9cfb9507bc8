// The engine's kernels for NEON.
#include "cpu.hpp"

#if ETHEREAL_ARM64
#define ETHEREAL_USE_NEON
#include "engine_kernels_impl.hpp"

namespace ethereal {
const KernelSet kernels_neon = make_kernel_set<4>();
}  // namespace ethereal
#endif
