// The engine's kernels for AVX2.
#include "cpu.hpp"

#if ETHEREAL_X86
#include "engine_kernels_impl.hpp"

namespace ethereal {
extern const KernelPair kernels_avx2;
const KernelPair kernels_avx2 = {make_kernels<1>(), make_kernels<2>()};
}  // namespace ethereal
#endif
