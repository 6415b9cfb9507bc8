#include "train_class_impl.hpp"

ETHEREAL_DEFINE_TRAIN_CLASS(train_class_scalar)
