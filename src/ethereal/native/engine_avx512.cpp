// The engine's kernels for AVX-512 (F, BW, DQ, VL).
#include "cpu.hpp"

#if ETHEREAL_X86
#include "engine_kernels_impl.hpp"

namespace ethereal {
const KernelSet kernels_avx512 = make_kernel_set<2>();
}  // namespace ethereal
#endif
