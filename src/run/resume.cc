#include "run/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "config/fields.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Keys, or beginnings of keys, on which at most the last bits of the weights depend.
constexpr std::string_view kMayChange[] = {"train.max_updates", "train.max_seconds",
                                           "train.threads",     "generate.workers",
                                           "inference.threads", "prefetch.",
                                           "checkpoint.",       "search.",
                                           "profile.",          "device",
                                           "data.path",         "data.on_damage",
                                           "data.reading",      "data.cpu_prefetch",
                                           "data.gpu_prefetch", "memory.",
                                           "replay.map_to"};

bool MayChange(std::string_view key) {
  return std::ranges::any_of(kMayChange,
                             [&](std::string_view may) { return key.starts_with(may); });
}

bool FallsUpToTheLastUpdate(Schedule schedule) {
  return schedule == Schedule::kLinear || schedule == Schedule::kCosine;
}

// Throws InputError if `asked` differs from the config that the run began with in a key that may
// not change.
void CheckConfigStays(const TrainConfig& began, const TrainConfig& asked,
                      const std::filesystem::path& folder) {
  TrainConfig before = began;
  std::vector<std::string> differences;
  for (const Field& field : FieldsOf(before)) {
    const std::string value = FieldText(field);
    const std::string now = FindValueText(asked, field.key).value_or("missing");
    if (now == value || MayChange(field.key)) continue;
    differences.push_back(fmt::format("{} is {} and was {}", field.key, now, value));
  }
  if (differences.empty()) return;
  throw InputError(fmt::format(
      "{}: not the config that the run began with, by its checkpoint.pt: {}; restore what it was, "
      "or train a new run from the changed config",
      (folder / "config.yaml").string(), fmt::join(differences, "; ")));
}

// Throws InputError if the learning rate falls up to a last update that is now another.
void CheckScheduleStays(const TrainConfig& before, const TrainConfig& asked,
                        const std::filesystem::path& folder) {
  if (asked.train.max_updates == before.train.max_updates) return;
  if (!FallsUpToTheLastUpdate(asked.optimizer.schedule)) return;
  throw InputError(fmt::format(
      "train.max_updates: it stays {} for this run, whose learning rate falls by the {} schedule "
      "up to the last update; a new run with `--set network.init_from={}` can do more from its "
      "weights, and the constant and exponential schedules leave the number open",
      *before.train.max_updates, ValueText(asked, "optimizer.schedule"), folder.string()));
}

}  // namespace

void CheckMayChange(const std::vector<Override>& overrides) {
  for (const Override& override : overrides) {
    if (!MayChange(override.key)) {
      throw InputError(
          fmt::format("{}: a run goes on as it began; with --resume only these may change: {}",
                      override.origin, fmt::join(kMayChange, ", ")));
    }
  }
}

TrainConfig ConfigToResume(const RunDirectory& directory, const Checkpoint& checkpoint,
                           const std::vector<Override>& overrides) {
  const std::string file = directory.checkpoint().string();
  // A run that was killed right after its first checkpoint left an empty config.yaml.
  const bool written = !std::filesystem::is_empty(directory.config());
  const auto load = [&](const std::vector<Override>& with) {
    return written ? LoadConfig(directory.config(), with)
                   : ParseConfig(checkpoint.Config(), file, with);
  };
  const TrainConfig began = ParseConfig(checkpoint.Config(), file);
  const TrainConfig saved = load({});
  TrainConfig asked = load(overrides);
  if (!asked.train.max_updates) {
    throw InputError("train.max_updates: expected a number, since a run that goes on has begun");
  }
  const bool follows_clock = checkpoint.Counters().follows_clock;
  CheckScheduleStays(follows_clock ? saved : began, asked, directory.path());
  if (follows_clock && asked.train.max_updates == saved.train.max_updates) {
    // config.yaml may hold plans for updates after the checkpoint, which are planned again.
    asked.train.follows_clock = true;
    asked.train.max_updates = began.train.max_updates;
    asked.train.plan = began.train.plan;
  }
  CheckConfigStays(began, asked, directory.path());
  return asked;
}

void CheckSomethingIsLeft(const TrainConfig& config, const RunCounters& done,
                          const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "summary.json")) return;
  if (done.updates >= *config.train.max_updates) {
    throw InputError(fmt::format(
        "{} has done all its {} updates; {}", folder.string(), *config.train.max_updates,
        FallsUpToTheLastUpdate(config.optimizer.schedule)
            ? fmt::format(
                  "a new run with `--set network.init_from={}` can do more from its weights",
                  folder.string())
            : "`--set train.max_updates=N` lets it do more"));
  }
  if (config.train.max_seconds > 0 && done.wall_s >= config.train.max_seconds) {
    throw InputError(fmt::format(
        "{} has used the {} that it may take; `--set train.max_seconds=N` gives it more",
        folder.string(), HumanSeconds(config.train.max_seconds)));
  }
}

}  // namespace tandem
