#include "cpu.hpp"
#if ETHEREAL_ARM64
#define ETHEREAL_NEON
#include "patch_planes.hpp"

ETHEREAL_DEFINE_MATCHER(match_patches_neon)
#endif
