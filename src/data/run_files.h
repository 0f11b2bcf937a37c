// The names of the files in the folder of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

inline constexpr std::string_view kConfigFile = "config.yaml";
inline constexpr std::string_view kMetricsFile = "metrics.jsonl";
inline constexpr std::string_view kShardsFile = "shards.jsonl";
inline constexpr std::string_view kSummaryFile = "summary.json";
inline constexpr int kSummarySchema = 1;  ///< number of its layout
inline constexpr std::string_view kTraceFile = "trace.json";
inline constexpr std::string_view kCheckpointFile = "checkpoint.safetensors";
inline constexpr std::string_view kBestFile = "best.safetensors";

/// The file in which `python -m tandem.convert` says where the network of a folder comes from.
inline constexpr std::string_view kImportRecord = "import.json";

/// NumberedName is a kind of file name that has a number: "replay-12.bin".
struct NumberedName {
  std::string_view prefix, suffix;

  std::string With(std::int64_t number) const;

  /// Returns the number in `name`, or nothing if `name` is not of this kind.
  std::optional<std::int64_t> NumberIn(std::string_view name) const;
};

inline constexpr NumberedName kArchivedNetworks = {"checkpoint-",
                                                   ".safetensors"};  ///< after N updates
inline constexpr NumberedName kPreviousCheckpoints = {"previous-",
                                                      ".safetensors"};      ///< before update N
inline constexpr NumberedName kPreservedBests = {"best-", ".safetensors"};  ///< after N updates
inline constexpr NumberedName kReplayRows = {"replay-", ".bin"};            ///< before update N

/// How the names begin that `python -m tandem.tensorboard` gives its files.
inline constexpr std::string_view kEventFiles = "events.out.tfevents.";

/// Returns whether a run, or `python -m tandem.convert`, gives a file of its folder this name.
bool IsFileOfRun(std::string_view name);

/// Returns whether `name` is that of a file of a run, or of a copy of one that somebody may have
/// put beside it, such as "checkpoint-copy.safetensors" or the events of another program.
bool ResemblesFileOfRun(std::string_view name);

}  // namespace tandem
