// Turns LibTorch's exceptions into readable errors.
#pragma once

#include "nn/torch_message.h"
#include "tandem/error.h"

namespace tandem {

/// Calls `action` and returns its result. Exceptions of LibTorch become Error.
template <class Action>
auto WithPlainErrors(Action action) {
  try {
    return action();
  } catch (const c10::Error& error) {
    throw Error(MessageFor(error));
  }
}

}  // namespace tandem
