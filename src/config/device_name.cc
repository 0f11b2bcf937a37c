#include "config/device_name.h"

#include <charconv>

namespace tandem {

std::optional<int> CudaIndex(std::string_view name) {
  if (name == "cuda") return 0;
  if (!name.starts_with("cuda:")) return std::nullopt;
  name.remove_prefix(5);
  int index = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index < 0) return std::nullopt;
  return index;
}

bool IsDeviceName(std::string_view name) {
  return name == "auto" || name == "cpu" || CudaIndex(name).has_value();
}

}  // namespace tandem
