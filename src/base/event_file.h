// Writes the event files that TensorBoard reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tandem {

/// EventFile writes a file of TensorBoard events: scalars and texts under a tag, each at a step.
/// The system has every event when the call that adds it returns, so TensorBoard can follow a
/// program that runs. All methods throw Error that names the file if it cannot be written.
///
/// The file is a sequence of records (TFRecord): length, checksum, a protobuf message `Event`,
/// checksum. Tandem encodes the messages itself. They need four kinds of fields, which take a page
/// here, while the protobuf library would add a code generator and a run-time library to the build,
/// and LibTorch contains another version of that library.
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

  using Hyperparameter = std::variant<bool, double, std::string>;

  /// Adds a row to the table HPARAMS, which compares the runs of a folder. Its name is `group`.
  void AddHyperparameters(
      const std::string& group,
      const std::vector<std::pair<std::string, Hyperparameter>>& hyperparameters);

 private:
  void Write(std::string_view event);

  const std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace tandem
