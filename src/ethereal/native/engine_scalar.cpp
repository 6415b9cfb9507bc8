// The engine's kernels for any processor.
#include "engine_kernels_impl.hpp"

namespace ethereal {
extern const KernelPair kernels_scalar;
const KernelPair kernels_scalar = {make_kernels<1>(), make_kernels<4>()};
}  // namespace ethereal
