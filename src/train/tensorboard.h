// Shows a run in TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace tandem {

/// EventFile writes a file of TensorBoard events: scalars and texts under a tag, each at a step.
/// The system has every event when the call that adds it returns, so TensorBoard can follow a
/// program that runs. All methods throw Error that names the file if it cannot be written.
///
/// The file is a sequence of records (TFRecord): length, checksum, a protobuf message `Event`,
/// checksum. Tandem encodes the messages itself, because LibTorch contains another version of the
/// protobuf library.
class EventFile {
 public:
  /// Creates `path`, which must not exist. TensorBoard recognises event files by "tfevents" in
  /// their name, and reads those of a folder in the order of their names. It forgets the events of
  /// earlier files from `first_step` on, because a program that was resumed repeats these steps.
  EventFile(std::filesystem::path path, std::int64_t first_step);

  /// Adds values to plot. A tag with slashes, such as "train/loss", is in the group "train".
  void AddScalars(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);

  /// Adds a text, in Markdown.
  void AddText(std::int64_t step, const std::string& tag, std::string_view markdown);

 private:
  void Write(std::string_view event);

  const std::filesystem::path path_;
  std::ofstream out_;
};

/// TensorBoardLog writes the figures of metrics.jsonl as events for TensorBoard, and the config
/// as text. Steps count iterations, as in DeepXube. If the file cannot be
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
