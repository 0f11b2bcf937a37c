// The folder of a run and its files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/run_files.h"

namespace tandem {

/// Returns `path` if it is a file, or the path of the checkpoint.safetensors in the folder `path`.
std::filesystem::path CheckpointIn(const std::filesystem::path& path);

/// Returns whether `checkpoint` is in a folder that `python -m tandem.convert` made. Its network
/// was trained by another program.
bool IsImported(const std::filesystem::path& checkpoint);

/// RunDirectory is the folder of a run, with the files of data/run_files.h. previous-N.safetensors
/// is an earlier checkpoint.safetensors (checkpoint.keep), which continues with update N; its
/// replay-N.bin and the best-N.safetensors that it refers to are kept with it. A folder that
/// `python -m tandem.convert` made has config.yaml, checkpoint.safetensors and import.json.
///
/// A program that writes into the folder holds its lock, on the file .lock. The lock is released
/// when the last copy of the object is destroyed or the program ends. If the filesystem has no
/// locks, a warning says so, and the folder is used without one.
class RunDirectory {
 public:
  /// Creates the folder and its parents, and claims it with an empty config.yaml, so that only one
  /// of two runs gets the folder. Takes over a claim that a killed program left. Throws InputError
  /// if the path exists and is not an empty folder. The object's paths are absolute, so the program
  /// may change its working folder while the run trains.
  static RunDirectory Create(const std::filesystem::path& folder);

  /// Gives up a claim. Removes the empty config.yaml, .lock, the folders of a stream, and what is
  /// left of a first checkpoint that could not be written, and then the folder, if Create made it
  /// and nothing else is in it. Does nothing if there is a checkpoint, because the run can be
  /// resumed.
  void Abandon() const;

  /// Opens the folder of an existing run for reading. Throws InputError that names a missing file:
  /// a run has config.yaml, and checkpoint.safetensors unless another of its networks is there.
  static RunDirectory Open(const std::filesystem::path& path);

  /// Whether the folder has a checkpoint from which a run can be resumed.
  static bool HasCheckpoint(const std::filesystem::path& path);

  /// Throws InputError if there is no checkpoint from which the run could be continued.
  void RequireCheckpoint() const;

  /// Opens the folder of an existing run to continue it, as Create does. Removes partly written
  /// files that a killed program left. Warns if checkpoint.safetensors is missing, but an earlier
  /// checkpoint is there. Throws InputError if a file is missing or another program holds the lock.
  static RunDirectory Reopen(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / kConfigFile; }
  std::filesystem::path metrics() const { return path_ / kMetricsFile; }
  std::filesystem::path checkpoint() const { return path_ / kCheckpointFile; }
  std::filesystem::path best() const { return path_ / kBestFile; }
  std::filesystem::path trace() const { return path_ / kTraceFile; }
  std::filesystem::path summary() const { return path_ / kSummaryFile; }
  std::filesystem::path shards() const { return path_ / kShardsFile; }
  std::filesystem::path import_record() const { return path_ / kImportRecord; }

  /// The file of the archived network (checkpoint.keep_every) after `updates` updates.
  std::filesystem::path archived(std::int64_t updates) const;

  /// Returns the checkpoints from which the run can be resumed, newest first:
  /// checkpoint.safetensors and the previous ones.
  std::vector<std::filesystem::path> Checkpoints() const;

  /// Preserves checkpoint.safetensors, which continues with update `next`, as
  /// previous-N.safetensors, so that it stays when the next checkpoint is written. Does nothing if
  /// that file exists.
  void PreserveCheckpoint(std::int64_t next) const;

  /// Returns the files of all archived networks that exist, in the order of their updates.
  std::vector<std::filesystem::path> AllArchived() const;

  /// The file of the rows that replay held before update `next`. The name has the number, so that
  /// the file of the previous checkpoint remains until the next checkpoint is complete.
  std::filesystem::path replay(std::int64_t next) const;

  /// Adds one line to metrics.jsonl, with its hash.
  void AppendMetrics(const nlohmann::ordered_json& line) const;

  /// Adds lines, each with its line break, to shards.jsonl.
  void AppendShards(const std::string& lines) const;

  /// Adds the entries of `more` to the last line of metrics.jsonl, which must be that of `update`.
  /// If it is not, or if it is damaged, leaves the file as it is and logs a warning.
  void AddToLastMetrics(std::int64_t update, const nlohmann::ordered_json& more) const;

  /// Makes the lines of metrics.jsonl and shards.jsonl durable (fsync). Call before writing a
  /// checkpoint, which relies on the lines of all earlier updates.
  void SyncMetrics() const;

  /// Preserves best.safetensors, the network after `update` updates, as best-N.safetensors, so that
  /// it stays when a better one is written: a checkpoint may still refer to it. Does nothing if
  /// best-N.safetensors exists.
  void PreserveBest(std::int64_t update) const;

  /// Call after writing the checkpoint that continues with update `next` and knows the best network
  /// after `best` updates. Removes the files of earlier checkpoints, except the newest `keep` - 1.
  void RemoveFilesBefore(std::int64_t next, std::optional<std::int64_t> best,
                         std::int64_t keep) const;

  /// Goes back to the files of a checkpoint after `updates` updates. Removes the lines of
  /// metrics.jsonl and shards.jsonl of later updates and, with a warning, lines that are not JSON
  /// or do not match their hash. Warns if metrics.jsonl does not reach back to update 0. Removes
  /// the archived networks and the previous checkpoints of later updates, and summary.json.
  /// Restores best.safetensors to the network after `best` updates, or removes it.
  void GoBackTo(std::int64_t updates, std::optional<std::int64_t> best) const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path preserved_best(std::int64_t update) const;
  std::filesystem::path previous(std::int64_t next) const;
  std::set<std::int64_t> NumbersOf(const NumberedName& kind) const;
  std::vector<std::int64_t> Previous() const;  // the newest first
  void RemoveUnusedBests(std::optional<std::int64_t> update, std::int64_t newest) const;
  bool IsAbandonedClaim() const;
  void Lock();
  void RemoveBegunFiles() const;
  void RemovePartialFiles() const;

  std::filesystem::path path_;
  bool made_folder_ = false;  // by Create
  FolderLock lock_;
};

}  // namespace tandem
