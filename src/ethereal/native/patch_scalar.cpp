#include "patch_impl.hpp"

ETHEREAL_DEFINE_PATCHES(train_patches_scalar, match_patches_scalar)
