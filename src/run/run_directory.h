// The folder that a run leaves behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/train_config.h"

namespace tandem {

/// The layout of checkpoint.pt.
inline constexpr std::int64_t kCheckpointSchema = 1;

/// config.yaml, metrics.jsonl, checkpoint.pt and summary.json under one folder.
class RunDirectory {
 public:
  /// Makes the folder and its parents, and claims it by an empty config.yaml: of two runs that want
  /// one folder, one is refused. Throws InputError if there is something that is not an empty
  /// folder.
  static RunDirectory Create(const std::filesystem::path& path);

  /// Gives up a claim: the folder is removed if nothing but the empty config.yaml is in it.
  void Abandon() const;

  /// Takes an existing run. Throws InputError that says what is missing.
  static RunDirectory Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.pt"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }

  /// Adds one line to metrics.jsonl.
  void AppendMetrics(const nlohmann::json& line) const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace tandem
