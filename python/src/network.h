// Trained networks as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

void BindNetwork(nanobind::module_& module);

}  // namespace tandem::python
