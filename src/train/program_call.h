// Calls from a program that Tandem is a part of, such as Python.
#pragma once

#include <c10/core/DefaultDtype.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include "nn/torch_message.h"
#include "tandem/error.h"

namespace tandem {

/// Throws InputError if the program has chosen another default type of tensors than fp32. All its
/// threads share the type, so it cannot be changed for a call.
inline void CheckDefaultType() {
  const c10::ScalarType type = c10::get_default_dtype_as_scalartype();
  if (type == c10::ScalarType::Float) return;
  throw InputError(fmt::format(
      "LibTorch's default type of tensors is {} in this program, expected Float. Set "
      "it back before Tandem is called: torch.set_default_dtype(torch.float32) in Python.",
      c10::toString(type)));
}

/// Calls `function` and returns its result. The program may call inside no_grad, inference_mode or
/// autocast; they would end training or change its results, so they are off meanwhile. Exceptions
/// of LibTorch become Error.
template <class Function>
auto CallFromProgram(Function function) {
  const c10::InferenceMode with_gradients(/*enabled=*/false);
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  return WithPlainErrors(function);
}

}  // namespace tandem
