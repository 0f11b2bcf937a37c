// What the key `device` may ask for, and what to say where that is not to be had.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// The GPUs that Tandem can use here.
struct Gpus {
  int count = 0;
  std::string missing;  ///< why there are none
};

/// Why there is no device `name` ("auto", "cpu", "cuda", "cuda:N") on a machine with these GPUs,
/// and what can be used instead; "" if there is.
std::string WhyNoDevice(std::string_view name, const Gpus& gpus);

}  // namespace tandem
