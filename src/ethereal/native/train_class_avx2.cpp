#include "cpu.hpp"
#if ETHEREAL_X86
#define ETHEREAL_AVX2
#include "train_class_impl.hpp"

ETHEREAL_DEFINE_TRAINING(train_avx2)
#endif
