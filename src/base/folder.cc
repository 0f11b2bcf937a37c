#include "base/folder.h"

#include <fmt/format.h>

#include <system_error>

#include "tandem/error.h"

namespace tandem {

namespace fs = std::filesystem;

void MakeEmptyFolder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) &&
      (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))) {
    FailForTakenFolder(folder);
  }
  fs::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
}

void FailForTakenFolder(const fs::path& folder) {
  throw InputError(fmt::format(
      "{} exists and is not an empty folder; choose another folder with --out", folder.string()));
}

}  // namespace tandem
