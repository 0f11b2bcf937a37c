#include "data/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tandem {
namespace {

constexpr std::array kFiles = {kConfigFile, kMetricsFile,    kShardsFile, kSummaryFile,
                               kTraceFile,  kCheckpointFile, kBestFile,   kImportRecord};
constexpr std::array kNumberedFiles = {kArchivedNetworks, kPreviousCheckpoints, kPreservedBests,
                                       kReplayRows};

}  // namespace

std::string NumberedName::With(std::int64_t number) const {
  return fmt::format("{}{}{}", prefix, number, suffix);
}

std::optional<std::int64_t> NumberedName::NumberIn(std::string_view name) const {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(std::min(suffix.size(), name.size()));
  const auto number = ParseNumber<std::int64_t>(name);
  return number && *number >= 0 ? number : std::nullopt;
}

bool IsFileOfRun(std::string_view name) {
  return std::ranges::find(kFiles, name) != kFiles.end() ||
         std::ranges::any_of(kNumberedFiles, [&](const NumberedName& kind) {
           return kind.NumberIn(name).has_value();
         });
}

bool ResemblesFileOfRun(std::string_view name) {
  return IsFileOfRun(name) || name.starts_with(kEventFiles) ||
         std::ranges::any_of(kNumberedFiles, [&](const NumberedName& kind) {
           return name.starts_with(kind.prefix) && name.ends_with(kind.suffix);
         });
}

}  // namespace tandem
