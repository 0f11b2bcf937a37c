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

bool FallsUpToTheLastUpdate(Schedule schedule) {
  return schedule == Schedule::kLinear || schedule == Schedule::kCosine;
}

}  // namespace

void CheckMayChange(const std::vector<Override>& overrides) {
  constexpr std::string_view kMay[] = {"train.max_updates", "train.max_seconds",
                                       "train.threads",     "generate.workers",
                                       "evaluate.threads",  "prefetch.",
                                       "checkpoint.",       "search.",
                                       "diagnose.",         "device",
                                       "data.path",         "data.on_damage",
                                       "data.reading",      "data.cpu_prefetch",
                                       "data.gpu_prefetch", "memory.",
                                       "replay.map_to"};
  for (const Override& override : overrides) {
    const auto covers = [&](std::string_view key) { return override.key.starts_with(key); };
    if (std::ranges::none_of(kMay, covers)) {
      throw InputError(
          fmt::format("{}: a run goes on as it began; with --resume only these may change: {}",
                      override.origin, fmt::join(kMay, ", ")));
    }
  }
}

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

void CheckSomethingIsLeft(const TrainConfig& config, const RunCounters& done,
                          const std::filesystem::path& folder) {
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
