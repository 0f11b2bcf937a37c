#include "apps/output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "tandem/error.h"

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

void OpenOutput(std::optional<AtomicFile>& file, const fs::path& path) {
  try {
    file.emplace(path);
  } catch (const Error& error) {
    throw InputError(error.what());
  }
}

void WriteOutput(const fs::path& path, std::string_view content) {
  std::optional<AtomicFile> file;
  OpenOutput(file, path);
  file->Write(content);
  file->Commit();
}

}  // namespace tandem
