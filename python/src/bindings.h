// The parts of the extension module. Each function adds its classes and functions to `module`.
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

void BindConfig(nanobind::module_& module);
void BindDomain(nanobind::module_& module);
void BindPythonDomains(nanobind::module_& module);
void BindNetwork(nanobind::module_& module);
void BindExamples(nanobind::module_& module);
void BindOwnNetworks(nanobind::module_& module);
void BindSolve(nanobind::module_& module);
void BindShards(nanobind::module_& module);
void BindTraining(nanobind::module_& module);

}  // namespace tandem::python
