// The engine's kernels for AVX2.
#include "cpu.hpp"

#if ETHEREAL_X86
#include "engine_kernels_impl.hpp"

namespace ethereal {
const KernelSet kernels_avx2 = make_kernel_set<2>();
}  // namespace ethereal
#endif
