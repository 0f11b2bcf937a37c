// The extension module of the Python package.
#include <nanobind/nanobind.h>

#include <exception>

#include "base/machine.h"
#include "base/stop_signal.h"
#include "bindings.h"
#include "domain.h"
#include "tandem/error.h"

namespace tandem::python {
namespace {

// InputError becomes ValueError, Interrupted and Stopped become KeyboardInterrupt, and other Errors
// become RuntimeError. Messages stay the same.
void Translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const Interrupted& error) {
    PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
  } catch (const Error& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (const Stopped& stopped) {
    PyErr_SetString(PyExc_KeyboardInterrupt, stopped.what());
  }
}

}  // namespace
}  // namespace tandem::python

NB_MODULE(_tandem, module) {
  module.doc() = "Tandem's C++ code. Import tandem instead, which documents it.";
  tandem::KeepFreedMemory();
  nanobind::register_exception_translator(&tandem::python::Translate);
  tandem::python::BindDomain(module);
  tandem::python::BindPythonDomains(module);
  tandem::python::BindConfig(module);
  tandem::python::BindSolve(module);
  tandem::python::BindExamples(module);
  tandem::python::BindNetwork(module);
  tandem::python::BindOwnNetworks(module);
  tandem::python::BindShards(module);
  tandem::python::BindTraining(module);
}
