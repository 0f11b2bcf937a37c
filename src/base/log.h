// Messages to the person at the terminal, on standard error; results go to standard output.
#pragma once

#include <string_view>

namespace tandem {

void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

}  // namespace tandem
