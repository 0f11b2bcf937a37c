// How fast puzzles move. Each figure stands beside a plain loop over all 54 stickers, in the same
// run: compare items_per_second.
#include <benchmark/benchmark.h>

#include <array>

#include "base/random.h"
#include "domain/random_walk.h"
#include "generate/walk_length.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kStates = 1000;  // 54 kB: in cache

struct Cubes {
  Cubes() : states(kStates * 54), actions(kStates) {
    for (std::size_t i = 0; i < kStates; ++i) {
      Random random(1, Purpose::kScramble, 0, i);
      RandomWalk walk(*cube, random, rows()[i]);
      for (int step = 0; step < 20; ++step) walk.Step();
      actions[i] = static_cast<Action>(random.Below(12));
    }
  }

  Rows rows() { return {states.data(), kStates, 54}; }

  std::unique_ptr<const Domain> cube = MakeDomain("cube3");
  std::vector<std::uint8_t> states;
  std::vector<Action> actions;
};

// What the actions do, read off by moving numbered stickers.
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

void ExpandNPuzzle(benchmark::State& state) {
  const auto puzzle = MakeDomain("npuzzle:4");
  std::vector<std::uint8_t> states(kStates * 16), children(kStates * 4 * 16);
  const Rows rows(states.data(), kStates, 16);
  for (std::size_t i = 0; i < kStates; ++i) {
    RandomWalk walk(*puzzle, Random(1, Purpose::kScramble, 0, i), rows[i]);
    for (int step = 0; step < 100; ++step) walk.Step();
  }
  for (auto _ : state) {
    puzzle->Expand(rows, Rows(children.data(), kStates * 4, 16));
    benchmark::DoNotOptimize(children.data());
  }
  state.SetItemsProcessed(state.iterations() * kStates * 4);
}
BENCHMARK(ExpandNPuzzle);

// A walk asks for the mask at each step.
void WalkNPuzzle(benchmark::State& state) {
  const auto puzzle = MakeDomain("npuzzle:4");
  std::vector<std::uint8_t> row(16);
  RandomWalk walk(*puzzle, Random(1, Purpose::kScramble), row);
  for (auto _ : state) walk.Step();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(WalkNPuzzle);

// Rows of examples, labels and random numbers included.
void FillWalkLength(benchmark::State& state) {
  const auto cube = MakeDomain("cube3");
  WalkLengthGenerator generator(
      *cube,
      {.seed = 1, .length = 26, .chunk_rows = 4096, .workers = static_cast<int>(state.range(0))});
  DataBuffer rows(ExampleSchema(cube->spec()), 100'000);
  std::int64_t update = 0;
  for (auto _ : state) {
    generator.Fill({.update = update++, .first_row = 0, .rows = 100'000}, rows, StopSignal());
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(FillWalkLength)->Arg(1)->Arg(2)->UseRealTime();

// Every puzzle: actions applied and children made by one core, in cache.
struct Everything {
  explicit Everything(const std::string& name)
      : domain(MakeDomain(name)),
        row_size(static_cast<std::size_t>(domain->spec().state_size)),
        num_actions(static_cast<std::size_t>(domain->spec().num_actions())),
        states(kRows * row_size),
        children(kRows * num_actions * row_size),
        actions(kRows) {
    for (std::size_t i = 0; i < kRows; ++i) {
      RandomWalk walk(*domain, Random(1, Purpose::kScramble, 0, i), rows()[i]);
      for (int step = 0; step < 20; ++step) walk.Step();
      actions[i] = static_cast<Action>(i % num_actions);
    }
  }

  Rows rows() { return {states.data(), kRows, row_size}; }

  static constexpr std::size_t kRows = 200;
  std::unique_ptr<const Domain> domain;
  std::size_t row_size, num_actions;
  std::vector<std::uint8_t> states, children;
  std::vector<Action> actions;
};

void ApplyOf(benchmark::State& state, const std::string& name) {
  Everything all(name);
  for (auto _ : state) {
    all.domain->Apply(all.rows(), all.actions);
    benchmark::DoNotOptimize(all.states.data());
  }
  state.SetItemsProcessed(state.iterations() * Everything::kRows);
}

void ExpandOf(benchmark::State& state, const std::string& name) {
  Everything all(name);
  const std::size_t count = Everything::kRows * all.num_actions;
  for (auto _ : state) {
    all.domain->Expand(all.rows(), {all.children.data(), count, all.row_size});
    benchmark::DoNotOptimize(all.children.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

const bool kEveryDomain = [] {
  std::vector<std::string> names = DomainNames();
  for (const char* file : {"cube4", "megaminx", "pyraminx", "topspin"}) {
    names.push_back(std::string("permutation:") + file);
  }
  for (const std::string& name : names) {
    benchmark::RegisterBenchmark(("ApplyOf/" + name).c_str(), ApplyOf, name);
    benchmark::RegisterBenchmark(("ExpandOf/" + name).c_str(), ExpandOf, name);
  }
  return true;
}();

}  // namespace
}  // namespace tandem
