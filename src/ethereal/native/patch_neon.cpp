#include "cpu.hpp"
#if ETHEREAL_ARM64
#define ETHEREAL_NEON
#include "patch_impl.hpp"

ETHEREAL_DEFINE_PATCHES(train_patches_neon, match_patches_neon)
#endif
