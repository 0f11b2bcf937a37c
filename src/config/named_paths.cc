#include "config/named_paths.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "config/fields.h"
#include "config/training_phases.h"

namespace tandem {
namespace {

// Whether a run uses the file or folder of `key`, which the config sets.
bool IsUsed(const Config& config, std::string_view key) {
  if (key == "generate.paths") return config.live_rows_of(0) > 0;
  if (key == "data.path") return config.data.source == DataSource::kShards;
  if (key == "replay.map_to") return config.replay.updates > 0;
  if (key == "validation.file") return config.validation.every_updates > 0;
  return true;
}

bool IsFolder(std::string_view key) { return key == "data.path" || key == "replay.map_to"; }

// Returns why the run cannot use the path of `key`; "" if it can or does not.
std::string WhyMissing(const Config& config, std::string_view key) {
  const std::string path = ValueText(config, key);
  if (path == "null" || !IsUsed(config, key)) return "";
  std::error_code error;  // a path that cannot be looked up is reported when it is opened
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fmt::format("`{}`: {}: no such {}", key, path,
                       key == "network.init_from" ? "file or folder"
                       : IsFolder(key)            ? "folder"
                                                  : "file");
  }
  if (!IsFolder(key) || error || std::filesystem::is_directory(status)) return "";
  return fmt::format("`{}`: {}: not a folder", key, path);
}

}  // namespace

std::optional<MissingPath> FindMissingPath(const Config& run,
                                           std::span<const std::string_view> keys) {
  for (std::int64_t phase = 0; phase <= std::ssize(run.phases); ++phase) {
    const Config config = ConfigOfPhase(run, phase);
    for (const std::string_view key : keys) {
      const std::string message = WhyMissing(config, key);
      if (!message.empty()) return MissingPath{key, phase, message};
    }
  }
  return std::nullopt;
}

}  // namespace tandem
