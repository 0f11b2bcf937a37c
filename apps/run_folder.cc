#include "apps/run_folder.h"

#include <fmt/format.h>

#include <ctime>

namespace tandem {

namespace fs = std::filesystem;

fs::path NewRunFolder(const std::string& prefix, const fs::path& config) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time_text[32];
  std::strftime(time_text, sizeof time_text, "%Y%m%d-%H%M%S", &local);
  const std::string name = fmt::format("{}{}-{}", prefix, config.stem().string(), time_text);
  fs::path folder = fs::path("runs") / name;
  for (int n = 2; fs::exists(folder); ++n)
    folder = fs::path("runs") / fmt::format("{}-{}", name, n);
  return folder;
}

}  // namespace tandem
