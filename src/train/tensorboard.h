// Shows a run in TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/event_file.h"
#include "config/config.h"

namespace tandem {

/// TensorBoardLog writes the figures of metrics.jsonl as events for TensorBoard, and the config
/// as text and as hyperparameters. Steps count iterations, as in DeepXube. If the file cannot be
/// written, warns once and writes no more, because the run does not need it.
class TensorBoardLog {
 public:
  /// Creates the event file `path` of a run that has done `iterations` iterations. TensorBoard then
  /// forgets what earlier event files in the folder have about later iterations.
  TensorBoardLog(const std::filesystem::path& path, const Config& config, std::int64_t iterations);

  /// Adds every number of `line`, a line of metrics.jsonl or more entries of it, after `iterations`
  /// iterations of the run.
  void Add(const nlohmann::ordered_json& line, std::int64_t iterations);

 private:
  template <class Write>
  void WarnOnFailure(const Write& write);

  const std::string_view search_;  // that tries to solve the validation states
  std::optional<EventFile> file_;  // nothing after a failure
};

}  // namespace tandem
