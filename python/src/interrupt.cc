#include "interrupt.h"

#include <csignal>

namespace tandem::python {
namespace {

namespace nb = nanobind;

bool g_handles_interrupts = false;  // guarded by the GIL: an object handles Ctrl-C

bool IsMainThread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

}  // namespace

InterruptibleWork::InterruptibleWork(StopSignal& stop) {
  // A puzzle in Python may itself call work that is interruptible.
  if (!g_handles_interrupts && IsMainThread()) {
    interrupt_.emplace(stop);
    g_handles_interrupts = true;
  }
  released_ = std::make_unique<nb::gil_scoped_release>();
}

InterruptibleWork::~InterruptibleWork() {
  released_.reset();
  if (interrupt_) g_handles_interrupts = false;
}

void SignalCheck::HandleSignals() {
  if (raised_) return;
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) {
    raised_.emplace();
    stopped_ = true;
  }
  next_ = Clock::now() + kPause;
}

void RaiseInterrupt() {
  (void)std::raise(SIGINT);  // ends the program if it has the default handler of C
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace tandem::python
