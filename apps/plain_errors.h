// LibTorch's exceptions, as messages for people.
#pragma once

#include <c10/util/Exception.h>

#include "tandem/error.h"

namespace tandem {

/// Calls `action`; what LibTorch throws becomes an Error without LibTorch's stack trace.
template <class Action>
auto WithPlainErrors(Action action) {
  try {
    return action();
  } catch (const c10::Error& error) {
    throw Error(error.what_without_backtrace());
  }
}

}  // namespace tandem
