// Calls from a program that Tandem is a part of, such as Python.
#pragma once

#include <c10/core/DispatchKeySet.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "nn/torch_message.h"

namespace tandem {

/// Throws InputError if the program has chosen another default type of tensors than fp32. All its
/// threads share the type, so it cannot be changed for a call.
void CheckDefaultType();

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
