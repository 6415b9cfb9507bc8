#include "cpu.hpp"
#if ETHEREAL_X86
#define ETHEREAL_AVX2
#include "patch_planes.hpp"

ETHEREAL_DEFINE_MATCHER(match_patches_avx2)
#endif
