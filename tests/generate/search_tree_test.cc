// Compares backups over whole searches with backups that the test computes from the rows.
#include "generate/search_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>

#include "support/generator_config.h"
#include "support/generators.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/puzzle.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 900;
constexpr std::int64_t kSteps = 15;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A deterministic function of the state that is neither exact nor consistent.
float GuessOf(std::span<const std::uint8_t> state) {
  float total = 0;
  for (std::size_t i = 0; i < state.size(); ++i) total += float((i * 5 + 3) % 7) * state[i];
  return total / 8;
}

DataBuffer Filled(const Domain& domain, Evaluator& network, const Config& config,
                  FillRequest request = {.rows = kRows}) {
  ValueIterationGenerator generator(domain, network, config);
  DataBuffer rows(generator.schema(), static_cast<std::size_t>(request.rows));
  generator.Fill(request, rows, StopSignal());
  return rows;
}

std::vector<std::uint8_t> AllBytes(const DataBuffer& rows) {
  std::vector<std::uint8_t> all;
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    const auto column = rows.column(c).bytes();
    all.insert(all.end(), column.begin(), column.end());
  }
  return all;
}

class Trees : public testing::TestWithParam<GenerateSearch> {
 protected:
  Config MakeConfig(Backup backup, Head head = Head::kV) const {
    return GeneratorConfig({.target = Target::kValueIteration,
                            .search = GetParam(),
                            .search_iterations = kSteps,
                            .search_epsilon = 0.2,
                            .search_weight = 0.8,
                            .search_beam_width = 3,
                            .backup = backup,
                            .max_scramble = 9,
                            .workers = 2,
                            .chunk_rows = 16},
                           head);
  }

  State StateOf(const DataBuffer& rows, std::size_t row) const {
    const auto state = rows.column(kInputColumn)[row];
    return {state.begin(), state.end()};
  }

  // The rows of each search. A search ends with its instance, or with a step that has expanded a
  // goal or a neighbour of one. The first step of a search is one state; in a beam the rest of the
  // rows of the step are scrambles that belong to no search.
  std::vector<std::vector<std::size_t>> Searches(const DataBuffer& rows) const {
    const std::size_t width = GetParam() == GenerateSearch::kBeam ? 3 : 1;
    std::vector<std::vector<std::size_t>> searches;
    bool ended = true;
    for (std::size_t step = 0; step < kRows / width; ++step) {
      const bool begins = ended || step % kSteps == 0;
      if (begins) searches.emplace_back();
      ended = false;
      for (std::size_t slot = 0; slot < (begins ? 1 : width); ++slot) {
        searches.back().push_back(step * width + slot);
        ended = ended || distances_.at(StateOf(rows, step * width + slot)) <= 1;
      }
    }
    return searches;
  }

  // The values of the states of a search, if each child outside counts as leaf(child): the fixed
  // point of the Bellman equation, from above.
  template <class Leaf>
  std::map<State, float, ByBytes> ValuesOf(const DataBuffer& rows,
                                           const std::vector<std::size_t>& search,
                                           const Leaf& leaf) const {
    std::map<State, float, ByBytes> values;
    for (const std::size_t row : search) {
      const State state = StateOf(rows, row);
      values[state] = distances_.at(state) == 0 ? 0 : kInfinity;
    }
    for (std::size_t round = 0; round <= values.size(); ++round) {
      for (auto& [state, value] : values) {
        for (Action action = 0; action < pancakes_.spec().num_actions(); ++action) {
          const State child = After(pancakes_, state, {action});
          const auto inside = values.find(child);
          value = std::min(value, 1 + (inside != values.end() ? inside->second : leaf(child)));
        }
      }
    }
    return values;
  }

  float EstimateOf(const State& state) const {
    return distances_.at(state) == 0 ? 0 : GuessOf(state);
  }

  const PancakeDomain pancakes_{6};
  const StateMap distances_ = Distances(pancakes_);
  StandInEvaluator guess_{GuessOf};
};

TEST_P(Trees, LhblIsTheBellmanFixedPointOfTheSearch) {
  const DataBuffer rows = Filled(pancakes_, guess_, MakeConfig(Backup::kLhbl));
  const DataBuffer one_step = Filled(pancakes_, guess_, MakeConfig(Backup::kOneStep));
  std::size_t longer = 0;
  std::size_t changed = 0;
  for (const std::vector<std::size_t>& search : Searches(rows)) {
    const auto values =
        ValuesOf(rows, search, [&](const State& child) { return EstimateOf(child); });
    for (const std::size_t row : search) {
      EXPECT_EQ(StateOf(rows, row), StateOf(one_step, row));
      EXPECT_FLOAT_EQ(rows.floats(kTargetColumn)[row], values.at(StateOf(rows, row))) << row;
      changed += rows.floats(kTargetColumn)[row] != one_step.floats(kTargetColumn)[row] ? 1 : 0;
    }
    longer += search.size() > 5 ? 1 : 0;
  }
  EXPECT_GT(longer, 10U);
  EXPECT_GT(changed, 50U);
}

TEST_P(Trees, LhblOfAQNetIsTheBackupOfEachAction) {
  const DataBuffer rows = Filled(pancakes_, guess_, MakeConfig(Backup::kLhbl, Head::kQ));
  const std::size_t actions = pancakes_.spec().num_actions();
  for (const std::vector<std::size_t>& search : Searches(rows)) {
    const auto values =
        ValuesOf(rows, search, [&](const State& child) { return EstimateOf(child); });
    for (const std::size_t row : search) {
      for (Action action = 0; action < actions; ++action) {
        const State child = After(pancakes_, StateOf(rows, row), {action});
        const auto inside = values.find(child);
        EXPECT_FLOAT_EQ(rows.floats(kTargetColumn)[row * actions + action],
                        1 + (inside != values.end() ? inside->second : EstimateOf(child)));
      }
    }
  }
}

TEST_P(Trees, SolutionsBoundTheLabelsOfTheirStates) {
  const DataBuffer rows = Filled(pancakes_, guess_, MakeConfig(Backup::kUbSoln));
  const DataBuffer one_step = Filled(pancakes_, guess_, MakeConfig(Backup::kOneStep));
  std::size_t lowered = 0;
  for (const std::vector<std::size_t>& search : Searches(rows)) {
    const auto costs = ValuesOf(rows, search, [&](const State& child) {
      return distances_.at(child) == 0 ? 0 : kInfinity;
    });
    for (const std::size_t row : search) {
      const float before = one_step.floats(kTargetColumn)[row];
      const float now = rows.floats(kTargetColumn)[row];
      const float bounded = std::min(before, costs.at(StateOf(rows, row)));
      // The states beside the path keep their labels.
      EXPECT_TRUE(now == before || now == bounded) << row;
      if (row == search.front()) {
        EXPECT_EQ(now, bounded);
      }
      lowered += now < before ? 1 : 0;
    }
  }
  EXPECT_GT(lowered, 5U);
}

TEST_P(Trees, RowsDoNotDependOnWorkersChunksOrRanges) {
  for (const Backup backup : {Backup::kOneStep, Backup::kLhbl, Backup::kUbSoln}) {
    Config config = MakeConfig(backup);
    if (GetParam() != GenerateSearch::kAStar) config.generate.temperature = 0.4;
    const FillRequest request{.update = 2, .first_row = 50, .rows = 333};
    const DataBuffer whole = Filled(pancakes_, guess_, config, request);
    for (const int workers : {1, 3}) {
      for (const std::int64_t chunk_rows : {1, 10, 1000}) {
        config.generate.workers = workers;
        config.generate.chunk_rows = chunk_rows;
        EXPECT_EQ(AllBytes(Filled(pancakes_, guess_, config, request)), AllBytes(whole));
      }
    }
    const DataBuffer part =
        Filled(pancakes_, guess_, config, {.update = 2, .first_row = 161, .rows = 70});
    for (std::size_t i = 0; i < 70; ++i) {
      EXPECT_EQ(StateOf(part, i), StateOf(whole, 111 + i));
      EXPECT_EQ(part.floats(kTargetColumn)[i], whole.floats(kTargetColumn)[111 + i]);
    }
  }
}

// After a stopped fill, the trees still hold states of rows that another fill writes.
TEST_P(Trees, FillAfterAStoppedFillIsLikeTheFirst) {
  const Config config = MakeConfig(Backup::kLhbl);
  StopSignal stop;
  int asked = 0;
  StandInEvaluator network([&](std::span<const std::uint8_t> state) {
    if (++asked == 2000) stop.Request();
    return GuessOf(state);
  });
  ValueIterationGenerator generator(pancakes_, network, config);
  DataBuffer rows(generator.schema(), kRows);
  EXPECT_THROW(generator.Fill({.rows = kRows}, rows, stop), Stopped);
  generator.Fill({.rows = kRows}, rows, StopSignal());
  EXPECT_EQ(AllBytes(rows), AllBytes(Filled(pancakes_, guess_, config)));
}

INSTANTIATE_TEST_SUITE_P(Of, Trees,
                         testing::Values(GenerateSearch::kGreedy, GenerateSearch::kBeam,
                                         GenerateSearch::kAStar),
                         [](const auto& test) {
                           return std::string(NameOf(kGenerateSearches, test.param));
                         });

// The rollout goes round the ring in one direction until it meets the goal.
TEST(SolutionBackups, CountDownToTheGoalAlongARollout) {
  const RingDomain ring(12);
  StandInEvaluator pessimist([](std::span<const std::uint8_t>) { return 500.0F; });
  const DataBuffer rows = Filled(ring, pessimist,
                                 GeneratorConfig({.target = Target::kValueIteration,
                                                  .search = GenerateSearch::kGreedy,
                                                  .search_iterations = 30,
                                                  .search_epsilon = 0,
                                                  .backup = Backup::kUbSoln,
                                                  .max_scramble = 5}));
  std::size_t far = 0;
  for (std::size_t i = 0; i + 1 < kRows; ++i) {
    const float label = rows.floats(kTargetColumn)[i];
    const int distance = RingDomain::Distance(rows.column(kInputColumn)[i]);
    if (label == 501) continue;  // a search that its instance cut short
    EXPECT_GE(label, distance);
    if (distance <= 1) {
      EXPECT_EQ(label, distance);
    } else {
      EXPECT_EQ(label, rows.floats(kTargetColumn)[i + 1] + 1) << i;
    }
    far += label > distance ? 1 : 0;  // the long way round
  }
  EXPECT_GT(far, 50U);
}

// Two lamps. Switching the first one costs so little that a float does not keep it beside the
// second.
struct CheapAndDear {
  static constexpr int kActions = 2;
  static constexpr int kDepth = 2;
  using State = std::array<std::uint8_t, 2>;
  static State Goal() { return {}; }
  static bool IsGoal(const State& state) { return state == Goal(); }
  static float Cost(int action) { return action == 0 ? 1e-6F : 64.0F; }
  static void Apply(State& state, int action) { state[static_cast<std::size_t>(action)] ^= 1; }
};

TEST(SolutionBackups, EndWhereRoundingHidesACost) {
  const PuzzleDomain<CheapAndDear> lamps("lamps");
  StandInEvaluator guess(GuessOf);
  const DataBuffer rows = Filled(lamps, guess,
                                 GeneratorConfig({.target = Target::kValueIteration,
                                                  .search = GenerateSearch::kGreedy,
                                                  .search_iterations = 30,
                                                  .search_epsilon = 0.5,
                                                  .backup = Backup::kUbSoln,
                                                  .max_scramble = 5}));
  for (const float label : rows.floats(kTargetColumn)) EXPECT_LE(label, 65.0F);
}

TEST(SearchTreeMemory, IsNeededOnlyForBackupsAndHindsight) {
  EXPECT_FALSE(SearchTree::IsNeeded({}));
  EXPECT_TRUE(SearchTree::IsNeeded({.backup = Backup::kLhbl}));
  EXPECT_TRUE(SearchTree::IsNeeded({.hindsight = true}));
}

}  // namespace
}  // namespace tandem
