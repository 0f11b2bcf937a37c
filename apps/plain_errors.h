// LibTorch's exceptions, as messages for people.
#pragma once

#include "nn/torch_message.h"
#include "tandem/error.h"

namespace tandem {

/// Calls `action`; what LibTorch throws becomes an Error.
template <class Action>
auto WithPlainErrors(Action action) {
  try {
    return action();
  } catch (const c10::Error& error) {
    throw Error(MessageFor(error));
  }
}

}  // namespace tandem
