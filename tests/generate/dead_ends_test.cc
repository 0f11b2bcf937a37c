// Tests that searches and walks of generators go on after a state in which no action applies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "data/examples.h"
#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/pits_domain.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 600;
constexpr float kPitValue = 100;  // a finite estimate of a hopeless state

class DeadEnds : public testing::TestWithParam<std::tuple<GenerateSearch, Backup, Head>> {
 protected:
  static Config MakeConfig() {
    const auto [search, backup, head] = GetParam();
    return GeneratorConfig({.target = Target::kValueIteration,
                            .search = search,
                            .search_iterations = 12,
                            .search_epsilon = 0.3,
                            .search_beam_width = 2,
                            .backup = backup,
                            .max_scramble = 6,
                            .workers = 2,
                            .chunk_rows = 16},
                           head);
  }

  DataBuffer Rows(Evaluator& network, const Config& config) const {
    const auto generator = MakeGenerator(pits_, config, &network);
    DataBuffer rows(generator->schema(), kRows);
    generator->Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
    return rows;
  }

  const PitsDomain pits_{8};
  StandInEvaluator truth_{[this](std::span<const std::uint8_t> state) {
    return pits_.IsPit(state) ? kPitValue : pits_.Truth(state);
  }};
  // Draws every search into the pits.
  StandInEvaluator lure_{[this](std::span<const std::uint8_t> state) {
    return pits_.IsPit(state) ? 0.0F : float(state[0]) + 5;
  }};
};

TEST_P(DeadEnds, SearchThatOnlyKnowsPitsRestartsOutside) {
  const Config config = MakeConfig();
  const std::size_t width = config.generate.states_per_step();
  const DataBuffer rows = Rows(lure_, config);
  std::size_t pits = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool in_pit = pits_.IsPit(rows.column(kInputColumn)[i]);
    pits += in_pit ? 1 : 0;
    // A pit has no children, so the row of the next step is not the same pit.
    if (in_pit && i + width < kRows) {
      EXPECT_NE(rows.column(kInputColumn)[i + width][0], rows.column(kInputColumn)[i][0]) << i;
    }
  }
  EXPECT_GT(pits, kRows / 20);
  for (const float label : rows.floats(kTargetColumn)) {
    EXPECT_TRUE(std::isfinite(label));
    EXPECT_GE(label, 0);
  }
}

TEST_P(DeadEnds, ExactEstimatesAreAFixedPointOutsideThePits) {
  const Config config = MakeConfig();
  const DataBuffer rows = Rows(truth_, config);
  const std::size_t actions = pits_.spec().num_actions();
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::uint8_t cell = rows.column(kInputColumn)[i][0];
    if (pits_.IsPit(rows.column(kInputColumn)[i])) continue;
    if (config.network.head == Head::kV) {
      EXPECT_EQ(rows.floats(kTargetColumn)[i], cell);
    } else if (cell > 0) {
      EXPECT_EQ(rows.floats(kTargetColumn)[i * actions], cell);              // a step to the left
      EXPECT_EQ(rows.floats(kTargetColumn)[i * actions + 2], 1 + kPitValue)  // a drop
          << int(cell);
    }
  }
}

TEST_P(DeadEnds, UnlabelledRowsGoOnTheSameWay) {
  Config config = MakeConfig();
  if (config.generate.backup != Backup::kOneStep) GTEST_SKIP() << "sync_main cannot back up trees";
  const DataBuffer labelled = Rows(lure_, config);
  config.pipeline.mode = Mode::kSyncMain;
  const DataBuffer states = Rows(lure_, config);
  EXPECT_TRUE(std::ranges::equal(states.column(kStateColumn).bytes(),
                                 labelled.column(kInputColumn).bytes()));
}

// The estimate of a pit is too good, and a search that has expanded the pit knows it.
TEST_P(DeadEnds, LhblOfAVNetLearnsThatAnExpandedPitLeadsNowhere) {
  const Config config = MakeConfig();
  if (config.generate.states_per_step() > 1 || config.network.head == Head::kQ) {
    GTEST_SKIP() << "needs consecutive rows of one search, and one label per row";
  }
  const bool lhbl = config.generate.backup == Backup::kLhbl;
  const DataBuffer rows = Rows(lure_, config);
  int drops = 0;
  for (std::size_t i = 0; i + 1 < kRows; ++i) {
    const std::uint8_t cell = rows.column(kInputColumn)[i][0];
    const bool same_search = (i + 1) % 12 != 0;
    // Beside the goal a search ends, so the next row is not a pit.
    if (!same_search || rows.column(kInputColumn)[i + 1][0] != 8 + cell) continue;
    const float label = rows.floats(kTargetColumn)[i];
    if (lhbl) {
      EXPECT_GE(label, 2) << i;
    } else {
      EXPECT_EQ(label, 1) << i;  // a drop at a cost of 1, and nothing from there
    }
    ++drops;
  }
  EXPECT_GT(drops, 10);
}

// The estimate of the last cell is so low that its step to the right, which does not apply, has the
// least backup.
TEST_P(DeadEnds, PolicyNamesNoActionThatDoesNotApply) {
  Config config = MakeConfig();
  if (config.network.head == Head::kQ) GTEST_SKIP() << "tests head vp once for each search";
  config.network.head = Head::kVp;
  constexpr std::uint8_t kLast = 4;
  const PitsDomain pits(kLast + 1);
  StandInEvaluator network(
      [&](std::span<const std::uint8_t> state) { return state[0] == kLast ? 0.0F : 10.0F; });
  const auto generator = MakeGenerator(pits, config, &network);
  DataBuffer rows(generator->schema(), kRows);
  generator->Fill({.rows = kRows}, rows, StopSignal());
  int last_cells = 0;
  std::vector<std::uint8_t> applies(static_cast<std::size_t>(pits.spec().num_actions()));
  for (std::size_t i = 0; i < kRows; ++i) {
    const ConstRows state(rows.column(kInputColumn)[i]);
    const auto policy = rows.floats(kTargetColumn, i).subspan(1);
    pits.Mask(state, applies);
    const bool has_label = state[0][0] != 0 && !pits.IsPit(state[0]);
    EXPECT_EQ(std::accumulate(policy.begin(), policy.end(), 0.0F), has_label ? 1 : 0) << i;
    for (std::size_t a = 0; a < applies.size(); ++a) {
      EXPECT_LE(policy[a], applies[a]) << "row " << i << ", cell " << int(state[0][0]);
    }
    last_cells += state[0][0] == kLast ? 1 : 0;
  }
  EXPECT_GT(last_cells, 10);
}

std::string NameOfCase(const testing::TestParamInfo<DeadEnds::ParamType>& test) {
  std::string name(NameOf(kGenerateSearches, std::get<0>(test.param)));
  name += NameOf(kBackups, std::get<1>(test.param));
  name += NameOf(kHeads, std::get<2>(test.param));
  std::erase(name, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Of, DeadEnds,
    testing::Combine(testing::Values(GenerateSearch::kGreedy, GenerateSearch::kBeam,
                                     GenerateSearch::kAStar),
                     testing::Values(Backup::kOneStep, Backup::kLhbl, Backup::kUbSoln),
                     testing::Values(Head::kV, Head::kQ)),
    NameOfCase);

TEST(QLearningWithDeadEnds, LabelsADropWithTheEstimateOfThePit) {
  const PitsDomain pits(8);
  StandInEvaluator of_pits(
      [&](std::span<const std::uint8_t> state) { return pits.IsPit(state) ? kPitValue : 3.0F; });
  const auto generator = MakeGenerator(
      pits, GeneratorConfig({.target = Target::kQLearning, .max_scramble = 20}, Head::kQIn),
      &of_pits);
  DataBuffer rows(generator->schema(), kRows);
  generator->Fill({.rows = kRows}, rows, StopSignal());
  int drops = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::uint8_t cell = rows.column(kInputColumn)[i][0];
    EXPECT_FALSE(pits.IsPit(rows.column(kInputColumn)[i].first(1)));
    if (ActionIn(pits.spec(), rows, i) != 2 || cell == 0) continue;  // the goal has no pit
    EXPECT_EQ(rows.floats(kTargetColumn)[i], 1 + kPitValue);
    ++drops;
  }
  EXPECT_GT(drops, kRows / 6);
}

TEST(WalksWithDeadEnds, NeverMeetAPit) {
  const PitsDomain pits(8);
  const auto generator = MakeGenerator(pits, GeneratorConfig({.max_scramble = 20}), nullptr);
  DataBuffer rows(generator->schema(), kRows);
  generator->Fill({.rows = kRows}, rows, StopSignal());
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto state = rows.column(kInputColumn)[i];
    EXPECT_FALSE(pits.IsPit(state));
    EXPECT_GE(rows.floats(kTargetColumn)[i], pits.Truth(state));
  }
}

}  // namespace
}  // namespace tandem
