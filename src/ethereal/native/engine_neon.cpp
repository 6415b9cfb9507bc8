// The engine's kernels for NEON.
#include "cpu.hpp"

#if ETHEREAL_ARM64
#define ETHEREAL_USE_NEON
#include "engine_kernels_impl.hpp"

namespace ethereal {
extern const KernelPair kernels_neon;
const KernelPair kernels_neon = {make_kernels<1>(), make_kernels<2>()};
}  // namespace ethereal
#endif
