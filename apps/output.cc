#include "apps/output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <system_error>

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

void CheckHasFilesOfRun(const std::filesystem::path& folder,
                        const std::vector<std::string>& files) {
  if (!std::filesystem::exists(folder)) {
    throw InputError(
        fmt::format("{}: no such folder; expected the folder of a run", folder.string()));
  }
  for (const std::string& file : files) {
    if (std::filesystem::exists(folder / file)) continue;
    throw InputError(
        fmt::format("{}: no such file; expected the folder of a run that has done an update",
                    (folder / file).string()));
  }
}

void CheckIsNotStatesFile(const char* option, const fs::path& path, const fs::path& states) {
  std::error_code ignored;
  if (!fs::equivalent(path, states, ignored)) return;
  throw InputError(fmt::format("{} {}: this is the file of the states; choose another file", option,
                               path.string()));
}

void OpenOutput(std::optional<AtomicFile>& file, const fs::path& path) {
  try {
    file.emplace(path);
  } catch (const Error& error) {
    throw InputError(error.what());
  }
}

void CheckCanWrite(const fs::path& path) {
  std::optional<AtomicFile> attempt;  // removed without Commit
  OpenOutput(attempt, path);
}

void WriteOutput(const fs::path& path, std::string_view content) {
  std::optional<AtomicFile> file;
  OpenOutput(file, path);
  file->Write(content);
  file->Commit();
}

}  // namespace tandem
