#include "train_class_impl.hpp"

ETHEREAL_DEFINE_TRAINING(train_scalar)
