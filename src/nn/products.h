// Checks that LibTorch's matrix products are correct.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "nn/device.h"

namespace tandem {

/// `linear(x, w)`: x (m, k) times the transpose of w (n, k).
using LinearFunction = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

/// Compares one product in fp32 and one in bf16 with a reference. Throws Error that names the type
/// and the difference if they differ by more than rounding. `threads` appears in the message only.
void CompareWithReference(const LinearFunction& linear, c10::Device device, int threads);

/// Checks LibTorch's products on `device`, and on the CPU with `threads` threads. If OpenMP starts
/// fewer threads than LibTorch requested, products can be wrong, or differ in their last bits from
/// those of other runs, and nothing else reports it. Each device and number of threads is checked
/// once per process. Throws Error if OpenMP starts fewer threads, and as CompareWithReference does.
void CheckProducts(const Device& device, int threads);

}  // namespace tandem
