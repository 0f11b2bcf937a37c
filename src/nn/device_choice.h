// Checks the config key `device` against the GPUs of the machine.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// Gpus describes the GPUs of this machine that Tandem can use.
struct Gpus {
  int count = 0;
  std::string missing;  ///< why there are none, if count is 0
};

/// Returns "" if a machine with these GPUs has device `name` ("auto", "cpu", "cuda" or "cuda:N"),
/// else an error message that says why not and what can be used instead.
std::string WhyNoDevice(std::string_view name, const Gpus& gpus);

}  // namespace tandem
