// A start-up check of the matrix products that every estimate and every gradient is made of.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "nn/device.h"

namespace tandem {

/// `linear(x, w)`: x (m, k) times the transpose of w (n, k).
using LinearFunction = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

/// Compares one product in fp32 and one in bf16 with a reference. Throws Error that names the type
/// and the difference.
void CompareWithReference(const LinearFunction& linear, c10::Device device, int threads);

/// Checks LibTorch's products on `device`, and on the CPU with `threads` threads. A set-up in which
/// OpenMP starts fewer threads than LibTorch asked for computes wrong products without any other
/// sign. Each number of threads is checked once in a process. Throws Error as above.
void CheckProducts(const Device& device, int threads);

}  // namespace tandem
