// The folder that a run leaves behind.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/train_config.h"

namespace tandem {

/// config.yaml, metrics.jsonl, checkpoint.pt and summary.json under one folder.
class RunDirectory {
 public:
  /// Throws InputError if there is something at `path` that is not an empty folder.
  static void CheckFree(const std::filesystem::path& path);

  /// Makes the folder and its parents. Throws InputError where CheckFree does.
  static RunDirectory Create(const std::filesystem::path& path);

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
