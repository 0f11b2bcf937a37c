// Long work that Ctrl-C stops.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "base/signals.h"
#include "base/stop_signal.h"

namespace tandem::python {

/// InterruptibleWork releases the GIL while it lives. Python handles a signal only between two
/// steps of the interpreter, so in the main thread Ctrl-C requests `stop` meanwhile. In other
/// threads it does nothing, as in Python.
class InterruptibleWork {
 public:
  explicit InterruptibleWork(StopSignal& stop);
  ~InterruptibleWork();
  InterruptibleWork(const InterruptibleWork&) = delete;
  InterruptibleWork& operator=(const InterruptibleWork&) = delete;

  bool caught() const { return interrupt_ && interrupt_->caught(); }

 private:
  std::optional<StopOnInterrupt> interrupt_;
  std::optional<nanobind::gil_scoped_release> released_;
};

/// Does what Ctrl-C would have done when it arrived: calls Python's handler of SIGINT, which
/// usually raises KeyboardInterrupt, or ends a program that has given the signal its default
/// action.
void RaiseInterrupt();

/// Runs `work`, and then raises what Ctrl-C raises if it stopped the work.
template <class Work>
void RunInterruptibly(StopSignal& stop, const Work& work) {
  bool caught = false;
  {
    const InterruptibleWork interruptible(stop);
    work();
    caught = interruptible.caught();
  }
  if (caught) RaiseInterrupt();
}

}  // namespace tandem::python
