// Measures searches without a network: with a heuristic that costs almost nothing, only the
// searches' own work remains. The same run also measures a simple A*, which takes one node at a
// time and uses the containers of the standard library: compare items_per_second, the nodes
// generated per second. With one thread, seconds are CPU time, which other programs disturb less;
// with two, wall time.
#include <benchmark/benchmark.h>
#include <oneapi/tbb/task_arena.h>

#include <array>
#include <ctime>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>

#include "base/random.h"
#include "domain/random_walks.h"
#include "support/built_first_domain.h"
#include "support/head_evaluator.h"
#include "support/searches.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kNodes = 1'000'000;  // distinct states, fewer than the cube has
constexpr float kWeight = 0.5F;

// The number of stickers that do not have their face's colour: a poor estimate, but not a constant.
float Misplaced(std::span<const std::uint8_t> state) {
  int misplaced = 0;
  for (std::size_t i = 0; i < state.size(); ++i) misplaced += state[i] != state[i / 9 * 9 + 4];
  return static_cast<float>(misplaced) / 4;
}

// The heuristic, as a V net or as a Q net that is as cheap: the parent's estimate, and a constant
// for each action.
class CheapNet final : public HeadEvaluator {
 public:
  explicit CheapNet(bool q_net = false) : HeadEvaluator(q_net ? Head::kQ : Head::kV) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = Misplaced(inputs[i]);
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const std::size_t actions = values.size() / inputs.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const float rest = Misplaced(inputs[i]);
      for (std::size_t a = 0; a < actions; ++a) {
        values[i * actions + a] = rest + static_cast<float>(inputs[i][a]) / 16;
      }
    }
  }
};

std::vector<std::uint8_t> Scrambled(const Domain& cube) {
  std::vector<std::uint8_t> state(54);
  WalkFromGoal(cube, Random(1, Purpose::kScramble), 100, state);
  return state;
}

struct PlainNode {
  float cost;
  float estimate;
  bool closed;
  std::string parent;
  Action action;
};

// Returns the number of nodes generated until kNodes distinct ones were found.
std::int64_t PlainAStar(const Domain& cube, const std::string& start) {
  using Entry = std::pair<float, std::string>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  std::unordered_map<std::string, PlainNode> nodes;
  const auto estimate = [](const std::string& state) {
    return Misplaced({reinterpret_cast<const std::uint8_t*>(state.data()), state.size()});
  };
  nodes[start] = {0, estimate(start), false, "", 0};
  open.emplace(estimate(start), start);
  std::int64_t generated = 0;
  while (nodes.size() < kNodes) {
    const std::string state = open.top().second;
    open.pop();
    PlainNode& parent = nodes[state];
    if (parent.closed) continue;
    parent.closed = true;
    const float cost = parent.cost + cube.spec().action_costs[0];
    for (Action action = 0; action < cube.spec().num_actions(); ++action) {
      std::string child = state;
      cube.Apply(Rows(reinterpret_cast<std::uint8_t*>(child.data()), 1, child.size()),
                 {&action, 1});
      ++generated;
      const auto [at, is_new] = nodes.try_emplace(child);
      if (!is_new && at->second.cost <= cost) continue;
      const float rest = is_new ? estimate(child) : at->second.estimate;
      at->second = {cost, rest, false, state, action};
      open.emplace(kWeight * cost + rest, std::move(child));
    }
  }
  return generated;
}

void PlainOneNodeAtATime(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  const std::vector<std::uint8_t> start = Scrambled(*cube);
  std::int64_t nodes = 0;
  for (auto _ : state) nodes += PlainAStar(*cube, {start.begin(), start.end()});
  state.SetItemsProcessed(nodes);
}
BENCHMARK(PlainOneNodeAtATime)->Unit(benchmark::kMillisecond);

void SolveIn(benchmark::State& state, Search& search, const Domain& cube, int threads,
             std::size_t puzzles) {
  std::vector<std::uint8_t> starts;
  for (std::size_t i = 0; i < puzzles; ++i) {
    const std::vector<std::uint8_t> start = Scrambled(cube);
    starts.insert(starts.end(), start.begin(), start.end());
  }
  tbb::task_arena arena(threads);
  std::int64_t nodes = 0, stored = 0, bytes = 0;
  for (auto _ : state) {
    arena.execute([&] {
      search.SolveAll(ConstRows(starts.data(), puzzles, 54), StopSignal(),
                      [&](std::size_t, const SearchResult& result) {
                        nodes += result.nodes;
                        stored += result.stored;
                        bytes += result.bytes;
                      });
    });
  }
  state.SetItemsProcessed(nodes);
  state.counters["bytes_per_node"] = static_cast<double>(bytes) / static_cast<double>(stored);
}

// Arguments: batch, puzzles at a time, threads.
void AStarNodes(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  const std::int64_t instances = state.range(1);
  CheapNet network;
  AStar search(*cube, network,
               {.search = {.weight = kWeight,
                           .batch = state.range(0),
                           .instances = instances,
                           .max_nodes = static_cast<std::int64_t>(kNodes) / instances}});
  SolveIn(state, search, *cube, static_cast<int>(state.range(2)),
          static_cast<std::size_t>(instances));
}
BENCHMARK(AStarNodes)
    ->ArgNames({"batch", "puzzles", "threads"})
    ->Args({1, 1, 1})
    ->Args({100, 1, 1})
    ->Args({1000, 1, 1})
    ->Args({1, 100, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(AStarNodes)
    ->ArgNames({"batch", "puzzles", "threads"})
    ->Args({1000, 1, 2})
    ->Args({100, 10, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

Config BeamConfig(std::int64_t width) {
  return {.search = {.beam_width = width, .max_length = 1'000'000 / 12 / 1024}};
}

// Arguments: width, threads, whether the network is a Q net, whether the search starts from the
// inverse position too.
void BeamNodes(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  CheapNet network(state.range(2) != 0);
  Config config = BeamConfig(state.range(0));
  config.search.inverse = state.range(3) != 0 ? UseInverse::kYes : UseInverse::kNo;
  BeamSearch search(*cube, network, config);
  SolveIn(state, search, *cube, static_cast<int>(state.range(1)), 1);
}
BENCHMARK(BeamNodes)
    ->ArgNames({"width", "threads", "q", "inverse"})
    ->ArgsProduct({{1024, 16384}, {1}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BeamNodes)
    ->ArgNames({"width", "threads", "q", "inverse"})
    ->Args({16384, 2, 0, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Runs two searches of the same scrambled cube in turns, so that other programs disturb both
// equally, and reports the nodes per second of CPU time of the second one, divided by those of the
// first. Requires one thread.
void CompareNodeRates(benchmark::State& state, Search& plain, Search& changed, const Domain& cube) {
  const std::vector<std::uint8_t> start = Scrambled(cube);
  tbb::task_arena arena(1);
  std::array<double, 2> seconds{};
  std::array<std::int64_t, 2> nodes{};
  for (auto _ : state) {
    for (const std::size_t i : {0, 1}) {
      arena.execute([&] {
        const std::clock_t begin = std::clock();
        nodes[i] += (i == 0 ? plain : changed).Solve(start, StopSignal()).nodes;
        seconds[i] += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      });
    }
  }
  const auto rate = [&](std::size_t i) { return static_cast<double>(nodes[i]) / seconds[i]; };
  state.counters["plain_nodes_per_s"] = rate(0);
  state.counters["nodes_per_s"] = rate(1);
  state.counters["ratio"] = rate(1) / rate(0);
}

// Hashing children before building them, against building all of them first. Arguments: width,
// whether the network is a Q net.
void HashesFirst(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  const BuiltFirstDomain built_first(*cube);
  CheapNet network(state.range(1) != 0);
  const Config config = BeamConfig(state.range(0));
  BeamSearch plain(built_first, network, config);
  BeamSearch changed(*cube, network, config);
  CompareNodeRates(state, plain, changed, *cube);
}
BENCHMARK(HashesFirst)
    ->ArgNames({"width", "q"})
    ->ArgsProduct({{1024, 4096, 16384}, {0, 1}})
    ->MinTime(5)
    ->Unit(benchmark::kMillisecond);

// Searching from the inverse position too, against the position alone, at the same width: the cost
// of the bookkeeping. Arguments: width, whether the network is a Q net.
void FromTheInverseToo(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  CheapNet network(state.range(1) != 0);
  Config config = BeamConfig(state.range(0));
  BeamSearch plain(*cube, network, config);
  config.search.inverse = UseInverse::kYes;
  BeamSearch changed(*cube, network, config);
  CompareNodeRates(state, plain, changed, *cube);
}
BENCHMARK(FromTheInverseToo)
    ->ArgNames({"width", "q"})
    ->ArgsProduct({{4096}, {0, 1}})
    ->MinTime(5)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem
