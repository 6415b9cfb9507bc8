#pragma once
#include <nanobind/nanobind.h>

void bind_trainer(nanobind::module_& m);
