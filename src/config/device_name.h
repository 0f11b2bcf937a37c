// Parses the values of the key `device`.
#pragma once

#include <optional>
#include <string_view>

namespace tandem {

/// Returns the N of "cuda:N", 0 for "cuda", and nothing for other names.
std::optional<int> CudaIndex(std::string_view name);

/// Returns whether `name` is "auto", "cpu", "cuda" or "cuda:N". The device need not exist.
bool IsDeviceName(std::string_view name);

}  // namespace tandem
