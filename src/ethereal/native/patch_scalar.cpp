#include "patch_planes.hpp"

ETHEREAL_DEFINE_MATCHER(match_patches_scalar)
