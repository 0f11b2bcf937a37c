// The metrics of a run: metrics.jsonl and events for TensorBoard.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config/config.h"
#include "train/run_directory.h"
#include "train/tensorboard.h"

namespace tandem {

/// MetricsLog writes the lines of metrics.jsonl, and the same figures as events. Iterations count
/// those of the whole run.
class MetricsLog {
 public:
  /// `directory` must outlive this object. The run of `config` has done `iterations` iterations.
  MetricsLog(const RunDirectory& directory, const Config& config, std::int64_t iterations);

  /// Adds the line of update `update`, after `iterations` iterations.
  void Add(std::int64_t update, const nlohmann::ordered_json& line, std::int64_t iterations);

  /// Adds `entries` to the line of the last update. `updates` updates are complete.
  void AddToLast(std::int64_t updates, const nlohmann::ordered_json& entries,
                 std::int64_t iterations);

 private:
  const RunDirectory& directory_;
  TensorBoardLog tensorboard_;
  std::optional<std::int64_t> last_;  // update of the last line that this object wrote
};

}  // namespace tandem
