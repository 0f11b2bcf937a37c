#include "config/unused_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/fields.h"
#include "config/training_phases.h"

namespace tandem {
namespace {

struct Use {
  std::string_view key;
  bool (*is_used)(const Config& config);
  std::string_view otherwise;  // why the key has no effect
};

bool IsRetrograde(const Config& c) { return c.generate.target == Target::kRetrograde; }
bool IsSgd(const Config& c) { return c.optimizer.name == OptimizerKind::kSgd; }
bool IsAdaptive(const Config& c) { return !IsSgd(c); }
bool IsMuon(const Config& c) { return c.optimizer.name == OptimizerKind::kMuon; }
bool HasMomentum(const Config& c) { return IsSgd(c) || IsMuon(c); }
bool IsStep(const Config& c) { return c.optimizer.schedule == Schedule::kStep; }
bool IsStream(const Config& c) { return c.streams(); }
bool ReadsShards(const Config& c) { return c.data.source == DataSource::kShards; }
bool IsTraced(const Config& c) { return c.profile.trace; }

// To a target network or, with a stream, to generators, whose lag is counted even if they label
// without a network.
bool PublishesWeights(const Config& c) { return c.labels_with_network() || IsStream(c); }

constexpr auto kUses = std::to_array<Use>({
    {"generate.search_iterations", [](const Config& c) { return c.generate.searches(); },
     "generate.search is none"},
    {"generate.search_epsilon",
     [](const Config& c) {
       return c.generate.search == GenerateSearch::kGreedy &&
              c.generate.target != Target::kOwnSolutions;
     },
     "only `search: greedy` takes random steps, and not for own_solutions"},
    {"generate.search_weight",
     [](const Config& c) { return c.generate.search == GenerateSearch::kAStar; },
     "only `search: astar` weighs costs"},
    {"generate.search_beam_width",
     [](const Config& c) { return c.generate.search == GenerateSearch::kBeam; },
     "only `search: beam` has a width"},
    {"generate.rows_per_walk", [](const Config& c) { return UsesRowsPerWalk(c.generate.target); },
     "only the targets walk_length and policy take several rows of a walk"},
    {"generate.problem_rows", IsRetrograde, "only the target retrograde draws problems"},
    {"generate.problem_states", IsRetrograde, "only the target retrograde draws problems"},
    {"generate.dead_end_share", IsRetrograde, "only the target retrograde finds dead ends"},
    {"generate.dead_end_cost", IsRetrograde, "only the target retrograde finds dead ends"},
    {"network.channels",
     [](const Config& c) { return c.network.kind != kResNetFc && c.network.kind != "mlp"; },
     "this kind of network has no convolutions"},
    {"optimizer.final_learning_rate",
     [](const Config& c) { return DependsOnLength(c.optimizer.schedule); },
     "only the schedules linear, cosine and wsd end there"},
    {"optimizer.decay",
     [](const Config& c) { return c.optimizer.schedule == Schedule::kExponential; },
     "only the schedule exponential decays by it"},
    {"optimizer.step_every", IsStep, "only the schedule step has steps"},
    {"optimizer.step_factor", IsStep, "only the schedule step has steps"},
    {"optimizer.decay_share",
     [](const Config& c) { return c.optimizer.schedule == Schedule::kWsd; },
     "only the schedule wsd has such a part"},
    {"optimizer.muon_learning_rate", IsMuon, "the optimizer is not muon"},
    {"optimizer.momentum", HasMomentum, "only sgd and muon have momentum"},
    {"optimizer.nesterov", IsSgd, "only sgd has the choice, and muon always does it"},
    {"optimizer.beta1", IsAdaptive, "sgd has momentum instead"},
    {"optimizer.beta2", IsAdaptive, "sgd does not scale gradients by their squares"},
    {"optimizer.epsilon", IsAdaptive, "sgd does not scale gradients by their squares"},
    {"pipeline.overlap", [](const Config& c) { return c.pipeline.mode == Mode::kAsync; },
     "it changes only the mode async"},
    {"pipeline.loss_thresh", PublishesWeights, "this run has no target network"},
    {"pipeline.refresh_every", PublishesWeights, "this run has no target network"},
    {"pipeline.refresh_margin",
     [](const Config& c) { return c.pipeline.refresh == Refresh::kSolveRate; },
     "only `refresh: solve_rate` has a margin"},
    {"replay.map_to", [](const Config& c) { return c.replay.updates > 0; },
     "replay.updates is 0, so no rows are kept"},
    {"data.live_share", [](const Config& c) { return c.data.source != DataSource::kLive; },
     "data.source is live, so all rows are"},
    {"data.on_damage", ReadsShards, "data.source is not shards"},
    {"data.reading", ReadsShards, "data.source is not shards"},
    {"data.cpu_prefetch", [](const Config& c) { return c.data.source != DataSource::kLive; },
     "data.source is live, so nothing is read"},
    {"data.gpu_prefetch", ReadsShards, "data.source is not shards"},
    {"data.max_lag", IsStream, "data.source is not stream"},
    {"data.stream_rows", IsStream, "data.source is not stream"},
    {"data.stream_shards", IsStream, "data.source is not stream"},
    {"train.huber_delta", [](const Config& c) { return c.train.loss == Loss::kHuber; },
     "the loss is not huber"},
    {"train.ema_use", [](const Config& c) { return c.train.averages(); },
     "train.ema_decay is 0, so there is no moving average"},
    {"profile.timing_every", [](const Config& c) { return c.profile.timing_breakdown; },
     "profile.timing_breakdown is false"},
    {"profile.trace_from", IsTraced, "profile.trace is false"},
    {"profile.trace_updates", IsTraced, "profile.trace is false"},
    {"profile.stream_ledger", IsStream, "data.source is not stream"},
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
    {"search.weight",
     [](const Config& c) {
       return SearchesBestFirst(c) || c.search.method == SearchMethod::kIdaStar;
     },
     "only A*, Q* and IDA* weigh costs"},
    {"search.batch", SearchesBestFirst, "only A* and Q* work in batches"},
    {"search.instances", [](const Config& c) { return SearchesBestFirst(c) || Shortens(c); },
     "only A* and Q* follow it"},
});

std::string Sentence(const Use& use, const Config& config) {
  return fmt::format("`{}: {}` has no effect: {}", use.key, ValueText(config, use.key),
                     use.otherwise);
}

}  // namespace

std::vector<std::string> DescribeUnusedKeys(const Config& run) {
  std::vector<Config> phases;
  for (std::int64_t phase = 0; phase <= std::ssize(run.phases); ++phase) {
    phases.push_back(ConfigOfPhase(run, phase));
  }
  const Config defaults;
  std::vector<std::string> sentences;
  for (const Use& use : kUses) {
    const auto set = std::ranges::find_if(phases, [&](const Config& phase) {
      return ValueText(phase, use.key) != ValueText(defaults, use.key);
    });
    if (set == phases.end() || std::ranges::any_of(phases, use.is_used)) continue;
    sentences.push_back(Sentence(use, *set));
  }
  return sentences;
}

std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  const std::vector<Override>& overrides) {
  std::vector<std::string> sentences;
  for (const Use& use : kSearchUses) {
    if (!IsOverridden(overrides, use.key) || use.is_used(config)) continue;
    sentences.push_back(Sentence(use, config));
  }
  return sentences;
}

}  // namespace tandem
