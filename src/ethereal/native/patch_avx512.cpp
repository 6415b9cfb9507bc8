#include "cpu.hpp"
#if ETHEREAL_X86
#define ETHEREAL_AVX512
#include "patch_planes.hpp"

ETHEREAL_DEFINE_MATCHER(match_patches_avx512)
#endif
