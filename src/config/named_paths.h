// The files and folders that a config names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"

namespace tandem {

/// Keys whose files and folders must exist before `tandem train` starts a run, before it resumes
/// one, and before `tandem generate` starts. A resumed run has its weights in its checkpoint, so it
/// does not need network.init_from.
inline constexpr auto kPathsOfNewRun = std::to_array<std::string_view>(
    {"generate.paths", "data.path", "replay.map_to", "validation.file", "network.init_from"});
inline constexpr auto kPathsOfResumedRun = std::to_array<std::string_view>(
    {"generate.paths", "data.path", "replay.map_to", "validation.file"});
inline constexpr auto kPathsOfShards =
    std::to_array<std::string_view>({"generate.paths", "network.init_from"});

/// `MissingPath` is a path that a config names and that does not exist.
struct MissingPath {
  std::string_view key;
  std::int64_t phase;   ///< the first phase of the run that needs the path
  std::string message;  ///< "`validation.file`: states.jsonl: no such file"
};

/// Returns the first of `keys` whose file or folder is missing, although the run uses the key.
std::optional<MissingPath> FindMissingPath(const Config& run,
                                           std::span<const std::string_view> keys);

}  // namespace tandem
