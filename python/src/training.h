// Training runs as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

void BindTraining(nanobind::module_& module);

}  // namespace tandem::python
