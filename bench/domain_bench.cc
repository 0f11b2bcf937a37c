// Measures how fast puzzles apply actions. The same run also measures a plain loop over all 54
// stickers: compare items_per_second.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "domain/random_walks.h"
#include "generate/generator.h"
#include "generate/retrograde.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kStates = 1000;  // 54 kB, which fit in the cache

// Finds all states of 50 Sokoban levels, which take about as much memory as a cache.
void SearchBackwards(benchmark::State& state) {
  constexpr std::uint64_t kLevels = 50;
  constexpr std::size_t kMostStates = 500'000;
  const auto sokoban = MakeDomain("sokoban:10");
  RetrogradeTable table(*sokoban);
  std::vector<std::uint8_t> goal(static_cast<std::size_t>(sokoban->spec().state_size));
  std::size_t found = 0;
  for (auto _ : state) {
    for (std::uint64_t seed = 0; seed < kLevels; ++seed) {
      sokoban->DrawGoals(Rows(std::span(goal)), {&seed, 1});
      table.Build(goal, kMostStates);
      found += table.size();
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(found));
  state.counters["levels_per_s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kLevels), benchmark::Counter::kIsRate);
}
BENCHMARK(SearchBackwards)->Unit(benchmark::kMillisecond);

struct Cubes {
  Cubes() : states(kStates * 54), actions(kStates) {
    for (std::size_t i = 0; i < kStates; ++i) {
      Random random(1, Purpose::kScramble, 0, i);
      WalkFromGoal(*cube, random, 20, rows()[i]);
      actions[i] = static_cast<Action>(random.Below(12));
    }
  }

  Rows rows() { return {states.data(), kStates, 54}; }

  std::unique_ptr<const Domain> cube = MakeDomain("cube3");
  std::vector<std::uint8_t> states;
  std::vector<Action> actions;
};

// The permutations of the actions, found by moving numbered stickers.
std::vector<std::array<std::uint8_t, 54>> Permutations(const Domain& cube) {
  std::vector<std::array<std::uint8_t, 54>> all(12);
  for (Action action = 0; action < 12; ++action) {
    for (std::size_t i = 0; i < 54; ++i) all[action][i] = static_cast<std::uint8_t>(i);
    cube.Apply(Rows(std::span<std::uint8_t>(all[action])), {&action, 1});
  }
  return all;
}

void PlainLoop(benchmark::State& state) {
  Cubes cubes;
  const auto permutations = Permutations(*cubes.cube);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kStates; ++i) {
      const std::span<std::uint8_t> row = cubes.rows()[i];
      std::array<std::uint8_t, 54> before;
      std::ranges::copy(row, before.begin());
      for (std::size_t j = 0; j < 54; ++j) row[j] = before[permutations[cubes.actions[i]][j]];
    }
    benchmark::DoNotOptimize(cubes.states.data());
  }
  state.SetItemsProcessed(state.iterations() * kStates);
}
BENCHMARK(PlainLoop);

void Apply(benchmark::State& state) {
  Cubes cubes;
  for (auto _ : state) {
    cubes.cube->Apply(cubes.rows(), cubes.actions);
    benchmark::DoNotOptimize(cubes.states.data());
  }
  state.SetItemsProcessed(state.iterations() * kStates);
}
BENCHMARK(Apply);

void Expand(benchmark::State& state) {
  Cubes cubes;
  std::vector<std::uint8_t> children(kStates * 12 * 54);
  for (auto _ : state) {
    cubes.cube->Expand(cubes.rows(), Rows(children.data(), kStates * 12, 54));
    benchmark::DoNotOptimize(children.data());
  }
  state.SetItemsProcessed(state.iterations() * kStates * 12);
}
BENCHMARK(Expand);

// Generates rows of examples, including labels and random numbers.
void FillWalkLength(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  Config config;
  config.generate.workers = state.range(0);
  const auto generator = MakeWalkGenerator(*cube, config, nullptr);
  DataBuffer rows(generator->schema(), 100'000);
  std::int64_t update = 0;
  for (auto _ : state) {
    generator->Fill({.update = update++, .first_row = 0, .rows = 100'000}, rows, StopSignal());
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(FillWalkLength)->Arg(1)->Arg(2)->UseRealTime();

// Runs each kind of benchmark for every puzzle, on one core, in the cache. Compare bytes_per_second
// between puzzles; it counts the rows that are written.
struct Puzzle {
  static constexpr std::size_t kRows = 200;
  static constexpr std::size_t kMostBytes = 1 << 17;  // of children, the same for every puzzle

  explicit Puzzle(const std::string& name)
      : domain(MakeDomain(name)),
        row_size(static_cast<std::size_t>(domain->spec().state_size)),
        num_actions(static_cast<std::size_t>(domain->spec().num_actions())),
        expanded(std::clamp<std::size_t>(kMostBytes / (num_actions * row_size), 1, kRows)),
        states(kRows * row_size),
        children(expanded * num_actions * row_size),
        actions(kRows) {
    for (std::size_t i = 0; i < kRows; ++i) {
      WalkFromGoal(*domain, Random(1, Purpose::kScramble, 0, i), 20, rows()[i]);
      actions[i] = static_cast<Action>(i % num_actions);
    }
  }

  Rows rows() { return {states.data(), kRows, row_size}; }

  void Count(benchmark::State& state, std::size_t rows_each) const {
    const auto rows = static_cast<std::int64_t>(rows_each) * state.iterations();
    state.SetItemsProcessed(rows);
    state.SetBytesProcessed(rows * static_cast<std::int64_t>(row_size));
    state.counters["row_bytes"] = static_cast<double>(row_size);
  }

  std::unique_ptr<const Domain> domain;
  std::size_t row_size, num_actions;
  std::size_t expanded;  // number of rows that are expanded at once
  std::vector<std::uint8_t> states, children;
  std::vector<Action> actions;
};

// Takes random walks of 20 steps, each from its own goal, many in lock step as generators do.
void ScrambleOf(benchmark::State& state, const std::string& name) {
  constexpr std::int64_t kSteps = 20;
  constexpr std::size_t kWalks = 256;
  const Puzzle puzzle(name);
  const std::vector<std::int64_t> lengths(kWalks, kSteps);
  std::vector<Random> randoms;
  for (std::size_t i = 0; i < kWalks; ++i) randoms.emplace_back(1, Purpose::kScramble, 0, i);
  RandomWalks walks(*puzzle.domain);
  for (auto _ : state) {
    walks.Begin(randoms, lengths);
    while (walks.Step()) {
    }
    benchmark::DoNotOptimize(walks.state(0).data());
  }
  puzzle.Count(state, kWalks * kSteps);
}

void ApplyOf(benchmark::State& state, const std::string& name) {
  Puzzle puzzle(name);
  for (auto _ : state) {
    puzzle.domain->Apply(puzzle.rows(), puzzle.actions);
    benchmark::DoNotOptimize(puzzle.states.data());
  }
  puzzle.Count(state, Puzzle::kRows);
}

void ExpandOf(benchmark::State& state, const std::string& name) {
  Puzzle puzzle(name);
  const std::size_t count = puzzle.expanded * puzzle.num_actions;
  const Rows states = puzzle.rows().Slice(0, puzzle.expanded);
  for (auto _ : state) {
    puzzle.domain->Expand(states, {puzzle.children.data(), count, puzzle.row_size});
    benchmark::DoNotOptimize(puzzle.children.data());
  }
  puzzle.Count(state, count);
}

const bool kEveryDomain = [] {
  std::vector<std::string> names = DomainNames();
  std::erase(names, "permutation");  // its default is one of the puzzles below
  for (const char* file : {"cube4", "lrx", "megaminx", "pyraminx", "topspin"}) {
    names.push_back(std::string("permutation:") + file);
  }
  for (const auto& [kind, bench] :
       {std::pair{"ScrambleOf/", &ScrambleOf}, {"ApplyOf/", &ApplyOf}, {"ExpandOf/", &ExpandOf}}) {
    for (const std::string& name : names) {
      benchmark::RegisterBenchmark((kind + name).c_str(), bench, name);
    }
  }
  return true;
}();

}  // namespace
}  // namespace tandem
