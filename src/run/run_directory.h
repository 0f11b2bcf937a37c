// The folder that a run leaves behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "config/train_config.h"

namespace tandem {

/// The checkpoint that `path` is, or that is in the run's folder `path`.
std::filesystem::path CheckpointIn(const std::filesystem::path& path);

/// config.yaml, metrics.jsonl, checkpoint.pt (and replay-N.bin, with replay), best.pt and
/// summary.json under one folder.
///
/// Whoever writes into it holds its lock, which goes when the last copy of the object does, or the
/// program.
class RunDirectory {
 public:
  /// Makes the folder and its parents, and claims it by an empty config.yaml: of two runs that want
  /// one folder, one is refused. A claim that a killed program left is taken over. Throws
  /// InputError if there is something that is not an empty folder.
  static RunDirectory Create(const std::filesystem::path& path);

  /// Gives up a claim: the folder is removed if nothing but the empty config.yaml is in it.
  void Abandon() const;

  /// Takes an existing run, to read. Throws InputError that says what is missing.
  static RunDirectory Open(const std::filesystem::path& path);

  /// Takes an existing run, to go on with it, and removes what a program that was killed had begun
  /// to write of the files above. Throws InputError if something is missing or another program is
  /// at it.
  static RunDirectory Reopen(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.pt"; }
  std::filesystem::path best() const { return path_ / "best.pt"; }
  std::filesystem::path trace() const { return path_ / "trace.json"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }

  /// What replay holds before update `next`. The number is in the name, so that the file of the
  /// checkpoint before stays until the next checkpoint is whole.
  std::filesystem::path replay(std::int64_t next) const;

  /// Removes the replay files of other updates than that.
  void KeepReplayOf(std::int64_t next) const;

  /// Adds one line to metrics.jsonl.
  void AppendMetrics(const nlohmann::ordered_json& line) const;

  /// Adds the entries of `more` to the last line of metrics.jsonl, if it has a line.
  void AddToLastMetrics(const nlohmann::ordered_json& more) const;

  /// Makes the lines of metrics.jsonl durable (fsync). Call before writing a checkpoint: it
  /// presumes the lines of all updates before it.
  void SyncMetrics() const;

  /// Drops the lines of metrics.jsonl for updates from number `updates` on, which will be done
  /// again. Also drops lines that are no JSON, with a warning.
  void KeepMetricsOf(std::int64_t updates) const;

  /// Renames best.pt, the network after `update` updates, to best-N.pt. The state that the last
  /// checkpoint holds may still count on it.
  void SetBestAside(std::int64_t update) const;

  /// Removes the networks that were set aside, but that of `update`.
  void KeepBestOf(std::optional<std::int64_t> update) const;

  /// Makes best.pt the network after `update` updates, if it was set aside, and removes the others.
  /// Without `update`, removes best.pt too.
  void BringBackBest(std::optional<std::int64_t> update) const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path best_aside(std::int64_t update) const;
  bool IsAbandonedClaim() const;
  void Lock();
  void RemovePartialFiles() const;

  std::filesystem::path path_;
  std::shared_ptr<const int> lock_;  // a file descriptor
};

}  // namespace tandem
