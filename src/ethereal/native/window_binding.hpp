#pragma once
#include <nanobind/nanobind.h>

void bind_window(nanobind::module_& m);
