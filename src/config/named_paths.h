// The files and folders that a config names.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "config/load.h"

namespace tandem {

/// MissingPath is a path that a config names and that does not exist.
struct MissingPath {
  std::string key;
  std::string message;  ///< "`validation.file`: states.jsonl: no such file"
};

/// Returns the first path that `work` needs and that does not exist.
std::optional<MissingPath> FindMissingPath(Config config, PathsOf work);

}  // namespace tandem
