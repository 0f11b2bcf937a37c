// Measures searches without a network: with a heuristic that costs almost nothing, only the
// searches' own work remains. The same run also measures a simple A*, which takes one node at a
// time and uses the containers of the standard library: compare items_per_second, the nodes
// generated per second. With one thread, seconds are CPU time, which other programs disturb less;
// with two, wall time.
#include <benchmark/benchmark.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <queue>
#include <string>
#include <unordered_map>

#include "base/random.h"
#include "domain/random_walk.h"
#include "search/astar.h"
#include "search/beam_search.h"
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

class CheapEvaluator final : public Evaluator {
 public:
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = Misplaced(inputs[i]);
  }
};

std::vector<std::uint8_t> Scrambled(const Domain& cube) {
  std::vector<std::uint8_t> state(54);
  RandomWalk walk(cube, Random(1, Purpose::kScramble), state);
  for (int step = 0; step < 100; ++step) walk.Step();
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
  CheapEvaluator evaluator;
  AStar search(*cube, evaluator,
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

// Arguments: width, threads.
void BeamNodes(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  CheapEvaluator evaluator;
  BeamSearch search(
      *cube, evaluator,
      {.search = {.beam_width = state.range(0), .max_length = 1'000'000 / 12 / 1024}});
  SolveIn(state, search, *cube, static_cast<int>(state.range(1)), 1);
}
BENCHMARK(BeamNodes)
    ->ArgNames({"width", "threads"})
    ->Args({1024, 1})
    ->Args({16384, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BeamNodes)
    ->ArgNames({"width", "threads"})
    ->Args({16384, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace tandem
