// The CPU threads and the precision of LibTorch's operators, and a check of their products.
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

#include <functional>

#include "nn/device.h"

namespace tandem {

/// ScopedThreads makes LibTorch's operators use `threads` CPU threads if they are called from this
/// thread, until the end of the scope. Other threads keep their own number, so a trainer and an
/// evaluator can each have a share of the cores; at::set_num_threads would set it for the whole
/// process. Turns off OpenMP's dynamic adjustment of the number (OMP_DYNAMIC) for this thread for
/// good.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ~ScopedThreads();
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int openmp_before_;
  int mkl_before_ = 0;
};

/// ScopedAutocast runs the calling thread's matrix products on `device` in bf16 if `enabled`, and
/// in the precision of their operands otherwise, until the end of the scope. The destructor
/// restores the thread's settings, which a Python program that calls Tandem shares. Run the forward
/// pass inside the scope and the backward pass outside.
class ScopedAutocast {
 public:
  ScopedAutocast(c10::DeviceType device, bool enabled)
      : device_(device),
        enabled_before_(at::autocast::is_autocast_enabled(device)),
        type_before_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, enabled);
  }

  ~ScopedAutocast() {
    at::autocast::set_autocast_enabled(device_, enabled_before_);
    at::autocast::set_autocast_dtype(device_, type_before_);
    // The cache holds bf16 copies of weights that the next optimizer step makes out of date. If
    // autocast was on before, the enclosing scope still uses them.
    if (!enabled_before_) at::autocast::clear_cache();
  }

  ScopedAutocast(const ScopedAutocast&) = delete;
  ScopedAutocast& operator=(const ScopedAutocast&) = delete;

 private:
  c10::DeviceType device_;
  bool enabled_before_;
  at::ScalarType type_before_;
};

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
