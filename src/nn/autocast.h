// Mixed precision: matrix products in bf16, weights and losses in fp32.
#pragma once

#include <ATen/autocast_mode.h>

namespace tandem {

/// Until the end of the scope, this thread's matrix products on `device` run in bf16 if `enabled`.
/// Run the forward pass inside and the backward pass outside.
class ScopedAutocast {
 public:
  ScopedAutocast(c10::DeviceType device, bool enabled)
      : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, enabled);
  }

  ~ScopedAutocast() {
    at::autocast::set_autocast_enabled(device_, before_);
    // The bf16 copies of weights, which the next step changes. An inner scope leaves them.
    if (!before_) at::autocast::clear_cache();
  }

  ScopedAutocast(const ScopedAutocast&) = delete;
  ScopedAutocast& operator=(const ScopedAutocast&) = delete;

 private:
  c10::DeviceType device_;
  bool before_;
};

}  // namespace tandem
