#include "cpu.hpp"
#if ETHEREAL_ARM64
#define ETHEREAL_NEON
#include "train_class_impl.hpp"

ETHEREAL_DEFINE_TRAINING(train_neon)
#endif
