#pragma once
#include <nanobind/nanobind.h>

void bind_pruner(nanobind::module_& m);
