#include "interrupt.h"

#include <csignal>
#include <exception>
#include <functional>
#include <optional>

#include "base/stop_signal.h"

namespace tandem::python {
namespace {

namespace nb = nanobind;

bool g_handles_interrupts = false;  // guarded by the GIL: RunInterruptibly handles Ctrl-C

bool IsMainThread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

bool IsStopped(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Stopped&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

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

void RunInterruptibly(StopSignal& stop, const std::function<void()>& work) {
  std::optional<StopOnSignals> handler;
  // A puzzle in Python may itself call work that is interruptible.
  if (!g_handles_interrupts && IsMainThread()) handler.emplace(stop);
  if (handler) g_handles_interrupts = true;
  std::exception_ptr error;
  {
    const nb::gil_scoped_release released;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }
  bool caught = false;
  if (handler) {
    // Asked with the GIL, for which this thread may have waited.
    caught = handler->caught() != 0;
    handler.reset();
    g_handles_interrupts = false;
  }
  const bool failed = error && !IsStopped(error);
  if (caught && !failed) RaiseInterrupt();
  if (caught && failed) (void)std::raise(SIGINT);
  if (error) std::rethrow_exception(error);
}

}  // namespace tandem::python
