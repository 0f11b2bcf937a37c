// Whole runs of the configs for small puzzles: a minute of training, then A* on random states. A
// breadth-first search of the whole puzzle provides the true distances.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "base/stopwatch.h"
#include "config/load.h"
#include "domain/random_walks.h"
#include "nn/device.h"
#include "search/hash_set.h"
#include "support/searches.h"
#include "support/source_folder.h"
#include "support/temp_folder.h"
#include "tandem/registry.h"
#include "train/loaded_model.h"
#include "train/resolve.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStates = 200;
constexpr std::int64_t kScramble = 1000;  // long enough to reach any state

// Every state of a puzzle and its distance from a given state.
class Distances {
 public:
  Distances(const Domain& domain, std::span<const std::uint8_t> from) {
    const std::size_t state_size = from.size();
    const std::size_t num_actions = domain.spec().num_actions();
    std::vector<std::uint8_t> level(from.begin(), from.end()), children;
    distance_[HashState(from)] = 0;
    for (int depth = 0; !level.empty(); ++depth) {
      within_.push_back(static_cast<std::int64_t>(distance_.size()));
      const ConstRows states(level.data(), level.size() / state_size, state_size);
      children.resize(states.size() * num_actions * state_size);
      const Rows rows(children.data(), states.size() * num_actions, state_size);
      domain.Expand(states, rows);
      std::vector<std::uint8_t> next;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!distance_.emplace(HashState(rows[i]), depth + 1).second) continue;
        next.insert(next.end(), rows[i].begin(), rows[i].end());
      }
      level = std::move(next);
    }
  }

  int Of(std::span<const std::uint8_t> state) const { return distance_.at(HashState(state)); }

  /// The number of states at most `distance` away.
  std::int64_t Within(int distance) const { return within_.at(distance); }

 private:
  absl::flat_hash_map<std::uint64_t, int> distance_;
  std::vector<std::int64_t> within_;
};

struct Outcome {
  int optimal = 0;
  std::int64_t expanded = 0;
};

Outcome SolveAll(const Domain& domain, Evaluator& network, const SearchConfig& config,
                 ConstRows states, const std::vector<int>& distances) {
  SearchConfig limited = config;
  limited.instances = 50;
  limited.max_nodes = 400'000;
  limited.max_seconds = 0;
  AStar search(domain, network, {.search = limited});
  Outcome outcome;
  search.SolveAll(states, StopSignal(), [&](std::size_t i, const SearchResult& result) {
    outcome.expanded += result.expanded;
    if (result.solved && static_cast<int>(result.actions.size()) == distances[i]) ++outcome.optimal;
  });
  return outcome;
}

struct Case {
  std::string config;
  bool same_from_everywhere;  // whether the numbers of states by distance are the same from every
                              // state
};

class Optimal : public testing::TestWithParam<Case> {};

TEST_P(Optimal, AMinuteOfTrainingGivesShortestSolutionsWithFewExpansions) {
  const TempFolder temp;
  const Stopwatch watch;
  const StopSignal never;
  const fs::path file = SourceFolder() / "configs" / GetParam().config;
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  Config config = ResolveAutos(LoadConfig(file), *device);
  ASSERT_LE(config.train.max_seconds, 60);
  ASSERT_GE(config.search.weight, 0.5);
  ASSERT_EQ(config.search.method, SearchMethod::kAStar);
  const RunDirectory trained = RunDirectory::Create(temp.path() / "trained");
  config = ResolveMaxUpdates(config, {.device = device, .stop = never, .began = watch});
  TrainRun run(config, {.device = device, .directory = trained, .stop = never, .began = watch});
  while (run.RunUpdate()) {
  }
  const RunSummary summary = run.Finish();
  EXPECT_LE(summary.wall_s, 60);

  const RunDirectory untrained = RunDirectory::Create(temp.path() / "untrained");
  TrainRun none(config, {.device = device, .directory = untrained, .stop = never});
  none.RequestStop();
  none.RunUpdate();
  EXPECT_EQ(none.Finish().iterations, 0);

  const auto domain = MakeDomain(config.domain.full_name());
  const auto state_size = static_cast<std::size_t>(domain->spec().state_size);
  std::vector<std::uint8_t> goal(state_size), bytes(kStates * state_size);
  domain->WriteGoals(Rows(std::span(goal)));
  const Distances to_goal(*domain, goal);
  const Rows states(bytes.data(), kStates, state_size);
  std::vector<int> distances;
  std::int64_t blind = 0;  // states that breadth-first search must expand: all nearer ones
  for (std::size_t i = 0; i < kStates; ++i) {
    WalkFromGoal(*domain, Random(2026, Purpose::kScramble, 0, i),
                 kScramble + static_cast<std::int64_t>(i % 2), states[i]);
    distances.push_back(to_goal.Of(states[i]));
    if (distances.back() == 0) continue;
    blind += GetParam().same_from_everywhere
                 ? to_goal.Within(distances.back() - 1)
                 : Distances(*domain, states[i]).Within(distances.back() - 1);
  }

  const std::vector<Override> on_cpu = {ParseOverride("device=cpu")};
  LoadedModel model({.runs = {trained.path().string()}, .overrides = on_cpu});
  LoadedModel fresh({.runs = {untrained.path().string()}, .overrides = on_cpu});
  const Stopwatch solving;
  const Outcome good = SolveAll(model.domain(), model.net(), config.search, states, distances);
  const double solving_s = solving.Seconds();
  // Ten states are enough to fail, and an untrained network takes long for each.
  const Outcome bad =
      SolveAll(fresh.domain(), fresh.net(), config.search, states.Slice(0, 10), distances);
  const double share = static_cast<double>(good.expanded) / static_cast<double>(blind);
  fmt::print(
      "{}: trained {:.1f} s on {} examples; mean distance {:.2f}; {} of {} solved shortest, {:.1f} "
      "states expanded each ({:.3f} % of blind search's {:.0f}), {:.1f} ms each; untrained: {} of "
      "10, {:.0f} expanded each\n",
      domain->spec().name, summary.wall_s, summary.examples,
      std::accumulate(distances.begin(), distances.end(), 0.0) / kStates, good.optimal, kStates,
      static_cast<double>(good.expanded) / kStates, 100 * share,
      static_cast<double>(blind) / kStates, 1000 * solving_s / kStates, bad.optimal,
      static_cast<double>(bad.expanded) / 10);
  EXPECT_EQ(good.optimal, static_cast<int>(kStates));
  EXPECT_LT(share, 0.05);
  const double bad_share =
      static_cast<double>(bad.expanded) / 10 / (static_cast<double>(blind) / kStates);
  EXPECT_TRUE(bad.optimal < 10 || bad_share >= 0.05);
}

INSTANTIATE_TEST_SUITE_P(Small, Optimal,
                         testing::Values(Case{"puzzle8.yaml", false}, Case{"cube2.yaml", true}),
                         [](const auto& test) { return test.param.config.substr(0, 5); });

}  // namespace
}  // namespace tandem
