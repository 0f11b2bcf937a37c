#include "errors.h"

#include <nanobind/nanobind.h>

#include <exception>

#include "base/stop_signal.h"
#include "tandem/error.h"

namespace tandem::python {
namespace {

void Translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const Error& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (const Stopped& stopped) {
    PyErr_SetString(PyExc_KeyboardInterrupt, stopped.what());
  }
}

}  // namespace

void TranslateErrors() { nanobind::register_exception_translator(&Translate); }

}  // namespace tandem::python
