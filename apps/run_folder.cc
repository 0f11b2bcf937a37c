#include "apps/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace tandem {

namespace fs = std::filesystem;

fs::path NewRunFolder(const std::string& prefix, const fs::path& config) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  const std::string name =
      fmt::format("{}{}-{:%Y%m%d-%H%M%S}", prefix, config.stem().string(), local);
  fs::path folder = fs::path("runs") / name;
  for (int n = 2; fs::exists(folder); ++n) {
    folder = fs::path("runs") / fmt::format("{}-{}", name, n);
  }
  return folder;
}

}  // namespace tandem
