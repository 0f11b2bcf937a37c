#include "run/run_directory.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tandem/error.h"

namespace tandem {

namespace fs = std::filesystem;

void RunDirectory::CheckFree(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) && (!fs::is_directory(path, error) || !fs::is_empty(path, error))) {
    throw InputError(fmt::format("{} exists and is not an empty folder: name another with --out",
                                 path.string()));
  }
}

RunDirectory RunDirectory::Create(const fs::path& path) {
  CheckFree(path);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw InputError(fmt::format("cannot make {}: {}", path.string(), error.message()));
  return RunDirectory(path);
}

RunDirectory RunDirectory::Open(const fs::path& path) {
  const RunDirectory run(path);
  for (const fs::path& file : {run.config(), run.checkpoint()}) {
    if (!fs::exists(file)) {
      throw InputError(fmt::format("{} is no finished run: it has no {}", path.string(),
                                   file.filename().string()));
    }
  }
  return run;
}

void RunDirectory::AppendMetrics(const nlohmann::json& line) const {
  std::ofstream out(metrics(), std::ios::app);
  out << line.dump() + "\n" << std::flush;
  if (!out) throw Error(fmt::format("cannot write {}", metrics().string()));
}

}  // namespace tandem
