#include "train/prepare_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/update_plan.h"
#include "data/run_files.h"
#include "domain/registry.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "ranks/ranks.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/resolve.h"

namespace tandem {

namespace {

constexpr const char* kPuzzleFile = "domain.file";

bool MayChange(std::string_view key) {
  if (key == kPuzzleFile) return true;  // of some puzzles, which the defaults do not name
  Config defaults;
  const std::optional<Field> field = FindField(defaults, key);
  return field && field->traits.may_change;
}

// Returns the keys that may change when a run is resumed: "train.threads, search.*". A section
// whose keys all may is named by its `*`.
std::string KeysThatMayChange() {
  Config defaults;
  std::vector<std::string> names;
  const std::vector<Field> fields = FieldsOf(defaults);
  for (auto begin = fields.begin(); begin != fields.end();) {
    const std::string section = begin->section();
    const auto end = std::find_if(begin, fields.end(),
                                  [&](const Field& field) { return field.section() != section; });
    const auto may = [](const Field& field) { return field.traits.may_change; };
    if (!section.empty() && std::all_of(begin, end, may)) {
      names.push_back(section + ".*");
    } else {
      for (auto field = begin; field != end; ++field) {
        if (may(*field)) names.push_back(field->key);
      }
    }
    begin = end;
  }
  return fmt::format("{}, {}", kPuzzleFile, fmt::join(names, ", "));
}

void CheckCoversDone(const Config& requested, std::int64_t done,
                     const std::filesystem::path& folder) {
  if (*requested.train.max_updates >= done) return;
  throw InputError(
      fmt::format("{}: `train.max_updates` is {}, expected at least {}, the number of updates that "
                  "the run has done.",
                  folder.string(), *requested.train.max_updates, done));
}

// Such a run would end at once, because no time would remain.
void CheckHasTimeLimit(const Config& requested, const std::filesystem::path& folder) {
  if (requested.train.max_seconds > 0) return;
  throw InputError(
      fmt::format("{}: `train.max_seconds` is 0, expected more than 0, because the run began with "
                  "`train.max_updates: auto` and plans its updates for the remaining time. Set "
                  "train.max_seconds to the seconds that the whole run may take.",
                  folder.string()));
}

// No config would repeat a run whose schedule changed halfway.
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

// Returns the overrides of `domain.file`. A config can be read only together with the file of its
// puzzle, which may have moved since the config was saved.
std::vector<Override> OverridesOfPuzzleFile(const std::vector<Override>& overrides) {
  std::vector<Override> of_file;
  std::ranges::copy_if(overrides, std::back_inserter(of_file),
                       [](const Override& override) { return override.key == kPuzzleFile; });
  return of_file;
}

// Returns the config.yaml of the run in `directory` with `overrides`, or the config of its
// checkpoint if config.yaml is empty, as after a kill right after the first checkpoint.
Config SavedConfig(const RunDirectory& directory, const Checkpoint& checkpoint,
                   const std::vector<Override>& overrides) {
  const bool written = !std::filesystem::is_empty(directory.config());
  return written ? LoadConfig(directory.config(), overrides) : checkpoint.ReadConfig(overrides);
}

enum class Limit { kNone, kUpdates, kTime };

// Returns the time that a run has used, in seconds. If a time limit ended an update early, its
// checkpoint is the state before that update, and `summary` says more.
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

// A run that was killed before it wrote its summary.json still has to finish.
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

// A run may resume on another machine. Resets the backend to `auto` if this device does not have
// it, and that of a GPU on a CPU, which has it for tests only. `saved` says where it ran.
Config WithSupportedBackend(const Device& device, const Config& saved, Config config,
                            const std::vector<Override>& overrides) {
  if (IsOverridden(overrides, "backend")) return config;
  const bool left_gpu = saved.device != "cpu" && device.torch().is_cpu();
  const Config resolved = WithBackends(config, device);
  const bool has_backend =
      WhyNoStep(resolved, device).empty() && WhyNoCopy(resolved, device).empty();
  if (!has_backend || (left_gpu && config.backend == BackendKind::kGpu)) {
    config.backend = BackendKind::kAuto;
  }
  return config;
}

// The precision of a run cannot change.
void CheckHasPrecision(const Config& config, const Device& device,
                       const std::vector<Override>& overrides) {
  const std::string why = WhyNoCopy(config, device);
  if (why.empty() || IsOverridden(overrides, "backend")) return;
  throw InputError(fmt::format(
      "the run evaluates with `inference.precision: {}`: {}. Resume it where that is supported, or "
      "begin a new run with its weights (network.init_from).",
      NameOf(kInferencePrecisions, config.inference.precision), why));
}

void CheckPaths(const Config& config, PathsOf work) {
  if (const auto missing = FindMissingPath(config, work)) throw InputError(missing->message);
}

void LogChange(const Config& before, const Config& now) {
  if (before.backend == now.backend) return;
  LogInfo(fmt::format(
      "backend is {} instead of {}, because this device is another one; the two differ by rounding",
      ValueText(now, "backend"), ValueText(before, "backend")));
}

void OpenMissingDevice(const Config& asked, RunOptions& options) {
  if (options.device == nullptr) options.device = OpenDevice(asked.device);
}

// Makes a prepared run, together with the other ranks.
std::unique_ptr<TrainRun> Make(const Config& config, const RunOptions& options,
                               const OnPrepared& on_prepared) {
  on_prepared(config, options);
  auto run = std::make_unique<TrainRun>(config, options);
  // The run may replace the checkpoint, so all ranks must have made theirs.
  if (options.ranks != nullptr) options.ranks->Barrier();
  return run;
}

}  // namespace

void CheckConfigStays(const Config& began, const Config& requested, const std::string& what) {
  Config before = began;
  // A new train.max_updates comes with a new plan, so the plans may differ.
  if (requested.train.max_updates != began.train.max_updates) {
    before.train.plan = requested.train.plan;
  }
  std::vector<std::string> differences;
  for (const Field& field : FieldsOf(before)) {
    const std::string value = FieldText(field);
    const std::string now = FindValueText(requested, field.key).value_or("missing");
    if (now == value || field.traits.may_change) continue;
    differences.push_back(fmt::format("{} is {} and was {}", field.key, now, value));
  }
  if (differences.empty()) return;
  throw InputError(
      fmt::format("{}: differs from the config in the checkpoint, with which the run began: {}. "
                  "Restore the old values, or train a new run from the changed config.",
                  what, fmt::join(differences, "; ")));
}

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
          override.origin, KeysThatMayChange()));
    }
  }
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
  CheckConfigStays(began, requested, directory.config().string());
  return requested;
}

bool IsComplete(const Config& config, const RunCounters& done,
                const std::filesystem::path& folder) {
  return LimitReached(config, done, folder) != Limit::kNone;
}

// CBOR, because paths may have any bytes, and texts of JSON must be UTF-8.
std::string EncodePlan(const RankPlan& plan) {
  const nlohmann::json json = {{"config", ToYaml(WithAbsolutePaths(plan.config))},
                               {"checkpoint", plan.checkpoint.string()},
                               {"complete", plan.complete}};
  std::string bytes;
  nlohmann::json::to_cbor(json, bytes);
  return bytes;
}

RankPlan DecodePlan(const std::string& bytes) {
  const nlohmann::json json = nlohmann::json::from_cbor(bytes);
  return {.config = ParseConfig(json.at("config").get<std::string>(), "the config of rank 0"),
          .checkpoint = json.at("checkpoint").get<std::string>(),
          .complete = json.at("complete").get<bool>()};
}

Config PrepareNew(const Config& asked, RunOptions& options) {
  CheckPaths(asked, PathsOf::kNewRun);
  for (const std::string& sentence : DescribeUnusedKeys(asked)) LogWarning(sentence);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  OpenMissingDevice(asked, options);
  return ResolveMaxUpdates(ResolveAutos(asked, *options.device, options.cores), options);
}

Config PrepareResume(const Checkpoint& from, const std::vector<Override>& overrides,
                     RunOptions& options) {
  const RunDirectory& directory = *options.directory;
  if (std::filesystem::is_empty(directory.config())) {
    LogWarning(fmt::format("{} is empty; continuing with the config saved in {}",
                           directory.config().string(),
                           std::filesystem::path(from.file()).filename().string()));
  }
  const Config asked = ConfigToResume(directory, from, overrides);
  CheckPaths(asked, PathsOf::kResumedRun);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  CheckNotComplete(asked, from.Counters(), directory.path());
  OpenMissingDevice(asked, options);
  const Config saved = SavedConfig(directory, from, OverridesOfPuzzleFile(overrides));
  Config config = ResolveAutos(WithSupportedBackend(*options.device, saved, asked, overrides),
                               *options.device, options.cores);
  CheckHasPrecision(config, *options.device, overrides);
  LogChange(asked, config);
  return config;
}

std::unique_ptr<TrainRun> MakeNewRun(const Config& asked, RunOptions options,
                                     const OnPrepared& on_prepared) {
  try {
    return Make(PrepareNew(asked, options), options, on_prepared);
  } catch (...) {
    options.directory->Abandon();  // does nothing if the run can be resumed
    throw;
  }
}

std::unique_ptr<TrainRun> MakeResumedRun(const std::vector<Override>& overrides, RunOptions options,
                                         const OnPrepared& on_prepared) {
  return OpenNewest(*options.directory, [&](const std::filesystem::path& file) {
    const Checkpoint from(file);
    options.from = &from;
    return Make(PrepareResume(from, overrides, options), options, on_prepared);
  });
}

}  // namespace tandem
