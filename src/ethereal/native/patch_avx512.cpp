#include "cpu.hpp"
#if ETHEREAL_X86
#define ETHEREAL_AVX512
#include "patch_impl.hpp"

ETHEREAL_DEFINE_PATCHES(train_patches_avx512, match_patches_avx512)
#endif
