// Turns LibTorch's exceptions into messages for users.
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <string_view>

#include "tandem/error.h"

namespace tandem {

/// Returns LibTorch's message without its stack trace. If memory ran out, returns how much was
/// requested and is free, as far as LibTorch says so, and which config keys reduce the need.
std::string MessageFor(const c10::Error& error);

/// Does this for `what`, the text of a c10::Error. Other texts stay as they are.
std::string MessageFor(std::string_view what);

/// Calls `function` and returns its result. Exceptions of LibTorch become Error.
template <class Function>
auto WithPlainErrors(Function function) {
  try {
    return function();
  } catch (const c10::Error& error) {
    throw Error(MessageFor(error));
  }
}

}  // namespace tandem
