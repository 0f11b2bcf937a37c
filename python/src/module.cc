// The extension module of the Python package.
#include <nanobind/nanobind.h>

#include "config.h"
#include "domain.h"
#include "errors.h"
#include "network.h"
#include "python_domain.h"
#include "training.h"

NB_MODULE(_tandem, module) {
  module.doc() = "Tandem's C++ code. Import tandem instead, which documents it.";
  tandem::python::TranslateErrors();
  tandem::python::BindDomain(module);
  tandem::python::BindPythonDomains(module);
  tandem::python::BindConfig(module);
  tandem::python::BindNetwork(module);
  tandem::python::BindTraining(module);
}
