#include "config/training_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "config/fields.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// KeyRange is a key that a phase may change or, with a dot at its end, a section. The key `except`
// shapes the work of the whole run, so a phase may not change it.
struct KeyRange {
  std::string_view keys;
  std::string_view except = {};
};

constexpr auto kMayChange = std::to_array<KeyRange>({
    {.keys = "generate.", .except = "workers"},
    {.keys = "optimizer."},
    {.keys = "pipeline.refresh"},
    {.keys = "pipeline.refresh_every"},
    {.keys = "pipeline.refresh_margin"},
    {.keys = "pipeline.loss_thresh"},
});

bool Contains(const KeyRange& range, std::string_view key) {
  if (!range.keys.ends_with('.')) return key == range.keys;
  return key.starts_with(range.keys) && key.substr(range.keys.size()) != range.except;
}

std::string Describe(const KeyRange& range) {
  if (!range.keys.ends_with('.')) return std::string(range.keys);
  const std::string_view section = range.keys.substr(0, range.keys.size() - 1);
  if (range.except.empty()) return std::string(section);
  return fmt::format("{} (except {})", section, range.except);
}

}  // namespace

std::string PhaseKeys() {
  std::string text;
  for (const KeyRange& range : kMayChange) {
    const bool is_last = &range == &kMayChange.back();
    text += fmt::format("{}{}", text.empty() ? "" : (is_last ? " and " : ", "), Describe(range));
  }
  return text;
}

std::string PhasesMeaning() {
  return fmt::format(
      "Later parts of the run with other settings, in a list. `from` is the share of the updates "
      "after which a phase begins, between 0 and 1. A phase keeps the weights of the network; the "
      "optimizer and its schedule begin again, and the schedule of each part ends with the part. A "
      "phase may change these keys: {}.",
      PhaseKeys());
}

bool PhaseMayChange(std::string_view key) {
  return std::ranges::any_of(kMayChange,
                             [&](const KeyRange& range) { return Contains(range, key); });
}

std::string DescribePhase(const Config& run, std::int64_t phase) {
  std::string text;
  for (const auto& [key, value] : run.phases.at(static_cast<std::size_t>(phase - 1)).settings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return text.empty() ? "nothing changes" : text;
}

Config ConfigOfPhase(const Config& run, std::int64_t phase) {
  Config config = run;
  config.phases.clear();
  if (phase == 0) return config;
  const std::vector<Field> fields = FieldsOf(config);
  const auto& settings = run.phases.at(static_cast<std::size_t>(phase - 1)).settings;
  for (const auto& [key, value] : settings) {
    const auto field = std::ranges::find(fields, key, &Field::key);
    if (field == fields.end() || !SetField(*field, value)) {
      throw Error(
          fmt::format("phase {}: cannot set {} to {}; this is a bug in Tandem", phase, key, value));
    }
  }
  return config;
}

std::int64_t FirstUpdateOfPhase(const Config& run, std::int64_t phase, std::int64_t updates) {
  if (phase == 0) return 0;
  const double from = run.phases.at(static_cast<std::size_t>(phase - 1)).from;
  constexpr double kRounding = 1e-9;  // 0.29 of 100 updates is update 29, not 28
  const double first = std::floor(from * static_cast<double>(updates) + kRounding);
  return std::max<std::int64_t>(static_cast<std::int64_t>(first), 1);
}

std::int64_t PhaseAt(const Config& run, std::int64_t update) {
  if (run.phases.empty()) return 0;
  const std::int64_t updates = UpdatePlan(run.train).updates_at(update);
  std::int64_t phase = std::ssize(run.phases);
  while (FirstUpdateOfPhase(run, phase, updates) > update) --phase;
  return phase;
}

PhasePlan PlanOfPhase(const Config& run, std::int64_t phase, std::int64_t first_update) {
  const UpdatePlan plan(run.train);
  const auto end_of = [&](std::int64_t updates) {
    const bool is_last = phase == std::ssize(run.phases);
    return is_last ? updates : FirstUpdateOfPhase(run, phase + 1, updates);
  };
  const std::int64_t end = std::max(end_of(plan.updates_at(first_update)), first_update + 1);
  PhasePlan result{
      .phase = phase, .first_update = first_update, .updates = UpdatePlan(end - first_update)};
  for (const UpdatePlan::Revision& revision : plan.revisions()) {
    if (revision.update <= first_update) continue;
    // A revision may also begin the next phase, or come after its beginning.
    if (revision.update > result.end() || end_of(revision.updates) <= revision.update) break;
    result.updates.Revise(revision.update - first_update, end_of(revision.updates) - first_update);
  }
  return result;
}

}  // namespace tandem
