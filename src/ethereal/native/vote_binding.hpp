#pragma once
#include <nanobind/nanobind.h>

void bind_votes(nanobind::module_& m);
