// The files and folders that a config names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"
#include "config/load.h"

namespace tandem {

/// MissingPath is a path that a config names and that does not exist.
struct MissingPath {
  std::string key;
  std::int64_t phase;   ///< the first phase of the run that needs the path
  std::string message;  ///< "`validation.file`: states.jsonl: no such file"
};

/// Returns the first path that `work` needs and that does not exist.
std::optional<MissingPath> FindMissingPath(const Config& run, PathsOf work);

}  // namespace tandem
