// What the key `device` may say.
#pragma once

#include <optional>
#include <string_view>

namespace tandem {

/// The N of "cuda:N"; 0 for "cuda"; nothing for other names.
std::optional<int> CudaIndex(std::string_view name);

/// "auto", "cpu", "cuda" and "cuda:N" are.
bool IsDeviceName(std::string_view name);

}  // namespace tandem
