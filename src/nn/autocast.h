// Mixed precision: matrix products in bf16, with weights and losses in fp32.
#pragma once

#include <ATen/autocast_mode.h>

namespace tandem {

/// ScopedAutocast runs the calling thread's matrix products on `device` in bf16 if `enabled`, and
/// in the precision of their operands otherwise, until the end of the scope. Run the forward pass
/// inside the scope and the backward pass outside.
class ScopedAutocast {
 public:
  ScopedAutocast(c10::DeviceType device, bool enabled)
      : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, enabled);
  }

  ~ScopedAutocast() {
    at::autocast::set_autocast_enabled(device_, before_);
    // The cache holds bf16 copies of weights that the next optimizer step makes out of date. If
    // autocast was on before, the enclosing scope still uses them.
    if (!before_) at::autocast::clear_cache();
  }

  ScopedAutocast(const ScopedAutocast&) = delete;
  ScopedAutocast& operator=(const ScopedAutocast&) = delete;

 private:
  c10::DeviceType device_;
  bool before_;
};

}  // namespace tandem
