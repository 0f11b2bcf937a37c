#include "nn/device_choice.h"

#include <fmt/format.h>

#include <optional>

#include "config/device_name.h"

namespace tandem {
namespace {

std::string Available(const Gpus& gpus) {
  if (gpus.count == 0) return fmt::format("cpu ({})", gpus.missing);
  if (gpus.count == 1) return "cpu, cuda:0";
  return fmt::format("cpu, cuda:0 to cuda:{}", gpus.count - 1);
}

}  // namespace

std::string WhyNoDevice(std::string_view name, const Gpus& gpus) {
  if (name == "auto" || name == "cpu") return "";
  const std::optional<int> index = CudaIndex(name);
  if (!index) {
    return fmt::format("`device: {}`: expected auto, cpu, cuda or cuda:N; this machine has {}",
                       name, Available(gpus));
  }
  if (*index < gpus.count) return "";
  if (gpus.count == 0) {
    return fmt::format("`device: {}`: {}; use `device: cpu` or `device: auto`", name, gpus.missing);
  }
  return fmt::format("`device: {}`: this machine has only {}", name, Available(gpus));
}

}  // namespace tandem
