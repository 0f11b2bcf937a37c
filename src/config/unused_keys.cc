#include "config/unused_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"
#include "config/training_phases.h"

namespace tandem {
namespace {

struct Use {
  std::string_view key;
  bool (*is_used)(const Config& config);
  std::string_view otherwise;  // why the key has no effect
};

bool IsTraced(const Config& c) { return c.profile.trace; }

// To a target network or, with a stream, to generators, whose lag is counted even if they label
// without a network.
bool PublishesWeights(const Config& c) { return c.labels_with_network() || c.streams(); }

constexpr auto kUses = std::to_array<Use>({
    {"generate.search_epsilon",
     [](const Config& c) {
       return c.generate.search == GenerateSearch::kGreedy &&
              c.generate.target != Target::kOwnSolutions;
     },
     "only `search: greedy` takes random steps, and not for own_solutions"},
    {"network.channels", [](const Config& c) { return !IsFullyConnected(c.network.kind); },
     "this kind of network has no convolutions"},
    {"pipeline.loss_thresh", PublishesWeights, "this run has no target network"},
    {"pipeline.refresh_every", PublishesWeights, "this run has no target network"},
    {"replay.map_to", [](const Config& c) { return c.replay.updates > 0; },
     "replay.updates is 0, so no rows are kept"},
    {"train.ema_use", [](const Config& c) { return c.train.averages(); },
     "train.ema_decay is 0, so there is no moving average"},
    {"profile.timing_every", [](const Config& c) { return c.profile.timing_breakdown; },
     "profile.timing_breakdown is false"},
    {"profile.trace_from", IsTraced, "profile.trace is false"},
    {"profile.trace_updates", IsTraced, "profile.trace is false"},
    {"profile.trace_epochs",
     [](const Config& c) { return IsTraced(c) && c.data.source == DataSource::kShards; },
     "only a traced run that reads shards has epochs to trace"},
});

bool SearchesBestFirst(const Config& c) { return IsBestFirst(c.search.method); }

// Beams shorten the solutions of every search.
bool Shortens(const Config& c) { return c.search.improve_seconds > 0; }

constexpr auto kSearchUses = std::to_array<Use>({
    {"search.beam_width",
     [](const Config& c) { return IsBeamSearch(c.search.method) || Shortens(c); },
     "only beam searches have a width"},
    {"search.max_length", [](const Config& c) { return !SearchesBestFirst(c) || Shortens(c); },
     "A* and Q* find solutions of any length"},
    {"search.instances", [](const Config& c) { return SearchesBestFirst(c) || Shortens(c); },
     "only A* and Q* follow it"},
});

std::string Sentence(std::string_view key, const Config& config, std::string_view why) {
  return fmt::format("`{}: {}` has no effect: {}", key, ValueText(config, key), why);
}

// Readers are the choices whose rows name a key (Choice::reads).
struct Readers {
  std::string key;
  std::string choice;              // "optimizer.name"
  std::vector<std::string> names;  // "sgd", "muon"

  bool read(const Config& config) const {
    return std::ranges::count(names, ValueText(config, choice)) > 0;
  }
  std::string otherwise() const {
    return fmt::format("only `{}: {}` reads it", choice, fmt::join(names, "` or `"));
  }
};

std::vector<Readers> AllReaders() {
  std::vector<Readers> all;
  Config defaults;
  for (const Field& field : FieldsOf(defaults)) {
    const auto* const choice = std::get_if<ChoiceField>(&field.value);
    for (std::size_t i = 0; choice != nullptr && i < choice->names.size(); ++i) {
      std::istringstream keys{std::string(choice->reads[i])};
      for (std::string key; keys >> key;) {
        auto found = std::ranges::find(all, key, &Readers::key);
        if (found == all.end()) found = all.insert(found, {key, field.key, {}});
        found->names.push_back(choice->names[i]);
      }
    }
  }
  return all;
}

bool IsOfSearch(std::string_view key) { return key.starts_with("search."); }

}  // namespace

std::vector<std::string> DescribeUnusedKeys(const Config& run) {
  std::vector<Config> phases;
  for (std::int64_t phase = 0; phase <= std::ssize(run.phases); ++phase) {
    phases.push_back(ConfigOfPhase(run, phase));
  }
  const Config defaults;
  std::vector<std::string> sentences;
  const auto add = [&](std::string_view key, std::string_view why, const auto& is_used) {
    const auto set = std::ranges::find_if(phases, [&](const Config& phase) {
      return ValueText(phase, key) != ValueText(defaults, key);
    });
    if (set == phases.end() || std::ranges::any_of(phases, is_used)) return;
    sentences.push_back(Sentence(key, *set, why));
  };
  for (const Readers& readers : AllReaders()) {
    if (IsOfSearch(readers.key)) continue;
    add(readers.key, readers.otherwise(), [&](const Config& c) { return readers.read(c); });
  }
  for (const Use& use : kUses) add(use.key, use.otherwise, use.is_used);
  return sentences;
}

std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  const std::vector<Override>& overrides) {
  std::vector<std::string> sentences;
  for (const Readers& readers : AllReaders()) {
    if (!IsOfSearch(readers.key) || !IsOverridden(overrides, readers.key)) continue;
    if (!readers.read(config)) {
      sentences.push_back(Sentence(readers.key, config, readers.otherwise()));
    }
  }
  for (const Use& use : kSearchUses) {
    if (!IsOverridden(overrides, use.key) || use.is_used(config)) continue;
    sentences.push_back(Sentence(use.key, config, use.otherwise));
  }
  return sentences;
}

}  // namespace tandem
