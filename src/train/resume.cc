#include "train/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/suggestions.h"
#include "config/update_plan.h"
#include "data/run_files.h"
#include "nn/device.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"

namespace tandem {
namespace {

constexpr const char* kPuzzleFile = "domain.file";

// Keys, or sections of keys, that may change when a run is resumed. Threads, the device and the
// backend change the last bits of the weights.
constexpr auto kMayChange = std::to_array<std::string_view>(
    {// How long, how fast and where the run works.
     "train.max_updates", "train.max_seconds", "train.threads", "generate.workers",
     "inference.threads", "prefetch.*", "device", "memory.*", "backend",
     // What it reads, writes and reports. Files may have moved. The puzzle's must have the same
     // rules (Checkpoint::CheckDomain); of others, the user must know that they have the same
     // content.
     "domain.file", "validation.file", "data.path", "data.on_damage", "data.cpu_prefetch",
     "data.gpu_prefetch", "data.max_lag", "data.stream_rows", "data.stream_shards", "checkpoint.*",
     "search.*", "report.*", "profile.*",
     // What it does when something fails.
     "train.on_invalid", "train.on_stall", "train.watchdog_seconds"});

bool MayChange(std::string_view key) {
  return std::ranges::any_of(kMayChange, [&](std::string_view may) {
    if (!may.ends_with('*')) return key == may;
    may.remove_suffix(1);
    return key.starts_with(may);
  });
}

}  // namespace

void CheckConfigStays(const Config& began, const Config& requested,
                      const std::filesystem::path& folder) {
  Config before = began;
  // A new train.max_updates comes with a new plan, so the plans may differ.
  if (requested.train.max_updates != began.train.max_updates) {
    before.train.plan = requested.train.plan;
  }
  std::vector<std::string> differences;
  for (const Field& field : FieldsOf(before)) {
    const std::string value = FieldText(field);
    const std::string now = FindValueText(requested, field.key).value_or("missing");
    if (now == value || MayChange(field.key)) continue;
    differences.push_back(fmt::format("{} is {} and was {}", field.key, now, value));
  }
  if (differences.empty()) return;
  throw InputError(fmt::format(
      "{}: differs from the config in checkpoint.pt, with which the run began: {}. Restore the old "
      "values, or train a new run from the changed config.",
      (folder / kConfigFile).string(), fmt::join(differences, "; ")));
}

namespace {

// Throws InputError if the run has done more updates than train.max_updates now allows.
void CheckCoversDone(const Config& requested, std::int64_t done,
                     const std::filesystem::path& folder) {
  if (*requested.train.max_updates >= done) return;
  throw InputError(
      fmt::format("{}: `train.max_updates` is {}, expected at least {}, the number of updates that "
                  "the run has done.",
                  folder.string(), *requested.train.max_updates, done));
}

// Throws InputError if a run that plans its updates for its time has no time limit. It would end at
// once, because no time would remain.
void CheckHasTimeLimit(const Config& requested, const std::filesystem::path& folder) {
  if (requested.train.max_seconds > 0) return;
  throw InputError(
      fmt::format("{}: `train.max_seconds` is 0, expected more than 0, because the run began with "
                  "`train.max_updates: auto` and plans its updates for the remaining time. Set "
                  "train.max_seconds to the seconds that the whole run may take.",
                  folder.string()));
}

// Throws InputError if the number of updates changed and the learning rate decreases up to the last
// update.
void CheckScheduleStays(const Config& before, const Config& requested,
                        const std::filesystem::path& folder) {
  if (requested.train.max_updates == before.train.max_updates) return;
  if (!DependsOnLength(requested.optimizer.schedule)) return;
  throw InputError(fmt::format(
      "train.max_updates must stay {} in this run, because the {} schedule decreases the learning "
      "rate up to the last update. To train further, start a new run from its weights with `--set "
      "network.init_from={}`. Runs with the constant and exponential schedules can be extended.",
      *before.train.max_updates, ValueText(requested, "optimizer.schedule"), folder.string()));
}

}  // namespace

void WarnOfDamage(const DamagedFile& error, const std::filesystem::path& next) {
  LogWarning(error.what());
  LogWarning(fmt::format("continuing from {} instead; the updates since then are repeated",
                         next.string()));
}

void CheckMayChange(const std::vector<Override>& overrides) {
  for (const Override& override : overrides) {
    if (!MayChange(override.key)) {
      Config defaults;  // of the keys under `domain`, it has those of one puzzle only
      if (!override.key.starts_with("domain.") && !FindValueText(defaults, override.key)) {
        throw InputError(fmt::format("{}: unknown key `{}`{}", override.origin, override.key,
                                     SuggestKey(override.key, FieldsOf(defaults), "")));
      }
      throw InputError(fmt::format(
          "{}: --resume continues a run with its own config. Only these keys may change: {}",
          override.origin, fmt::join(kMayChange, ", ")));
    }
  }
}

std::vector<Override> OverridesOfPuzzleFile(const std::vector<Override>& overrides) {
  std::vector<Override> of_file;
  std::ranges::copy_if(overrides, std::back_inserter(of_file),
                       [](const Override& override) { return override.key == kPuzzleFile; });
  return of_file;
}

Config SavedConfig(const RunDirectory& directory, const Checkpoint& checkpoint,
                   const std::vector<Override>& overrides) {
  const bool written = !std::filesystem::is_empty(directory.config());
  return written ? LoadConfig(directory.config(), overrides) : checkpoint.ReadConfig(overrides);
}

Config ConfigToResume(const RunDirectory& directory, const Checkpoint& checkpoint,
                      const std::vector<Override>& overrides) {
  std::vector<Override> place = OverridesOfPuzzleFile(overrides);
  const Config saved = SavedConfig(directory, checkpoint, place);
  if (const auto file = FindValueText(saved, kPuzzleFile); file && place.empty()) {
    // A resumed run writes the new place to config.yaml before it writes a checkpoint.
    place.push_back({kPuzzleFile, *file, directory.config().string()});
  }
  const Config began = checkpoint.ReadConfig(place);
  std::vector<Override> changes = overrides;
  if (IsOverridden(overrides, "train.max_updates")) {
    changes.push_back(
        {.key = "train.plan", .value = "null", .origin = "another number of updates"});
  }
  Config requested = SavedConfig(directory, checkpoint, changes);
  if (!requested.train.max_updates) {
    throw InputError(
        "train.max_updates: expected a number, because --resume continues a run that has a plan");
  }
  const bool follows_clock = checkpoint.Counters().follows_clock;
  CheckScheduleStays(follows_clock ? saved : began, requested, directory.path());
  if (follows_clock && requested.train.max_updates == saved.train.max_updates) {
    CheckHasTimeLimit(requested, directory.path());
    // config.yaml may have revisions for updates after the checkpoint, which are planned again.
    requested.train.follows_clock = true;
    requested.train.max_updates = began.train.max_updates;
    requested.train.plan = began.train.plan;
  }
  CheckCoversDone(requested, checkpoint.Counters().updates, directory.path());
  CheckConfigStays(began, requested, directory.path());
  return requested;
}

namespace {

enum class Limit { kNone, kUpdates, kTime };

// Returns the time that a run has used, in seconds. A time limit may end a run inside an update.
// Its checkpoint is then the state before that update, so `summary` says more, if it is not
// damaged.
double SecondsUsed(const RunCounters& done, const std::filesystem::path& summary) {
  const auto json = ParseJsonOrDiscard(ReadFile(summary));
  const auto seconds = json.is_object() ? json.find("wall_s") : json.end();
  const bool is_known = seconds != json.end() && seconds->is_number();
  return is_known ? std::max(done.wall_s, seconds->get<double>()) : done.wall_s;
}

// Returns the limit that a complete run has reached, or kNone if the run can be continued.
Limit LimitReached(const Config& config, const RunCounters& done,
                   const std::filesystem::path& folder) {
  const std::filesystem::path summary = folder / kSummaryFile;
  if (!std::filesystem::exists(summary)) return Limit::kNone;
  if (done.updates >= *config.train.max_updates) return Limit::kUpdates;
  const double seconds = TimeLimitOf(config.train);
  return seconds > 0 && SecondsUsed(done, summary) >= seconds ? Limit::kTime : Limit::kNone;
}

}  // namespace

bool IsComplete(const Config& config, const RunCounters& done,
                const std::filesystem::path& folder) {
  return LimitReached(config, done, folder) != Limit::kNone;
}

void CheckNotComplete(const Config& config, const RunCounters& done,
                      const std::filesystem::path& folder) {
  switch (LimitReached(config, done, folder)) {
    case Limit::kNone:
      return;
    case Limit::kUpdates:
      throw InputError(fmt::format(
          "{}: the run has done all its {} updates. {}", folder.string(), *config.train.max_updates,
          DependsOnLength(config.optimizer.schedule)
              ? fmt::format("To train further, start a new run with `--set network.init_from={}`.",
                            folder.string())
              : "Add `--set train.max_updates=N` to do more."));
    case Limit::kTime:
      throw InputError(fmt::format(
          "{}: the run has used its {} of time. Add `--set train.max_seconds=N` to give it more.",
          folder.string(), HumanSeconds(config.train.max_seconds)));
  }
}

}  // namespace tandem
