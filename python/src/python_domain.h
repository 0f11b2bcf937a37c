// Puzzles that are written in Python with NumPy.
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

void BindPythonDomains(nanobind::module_& module);

}  // namespace tandem::python
