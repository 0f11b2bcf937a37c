// Tests of generate.curriculum, and of the count of solved searches that it follows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "generate/generator.h"
#include "generate/labels.h"
#include "support/generator_config.h"
#include "support/generators.h"
#include "support/ring_domain.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

constexpr int kCells = 60;
constexpr std::int64_t kSteps = 10;
constexpr std::int64_t kRows = 1000;

TEST(SolvedByLength, GivesEachLengthTheSameWeight) {
  SolvedByLength solved;
  EXPECT_EQ(solved.MeanShare(), std::nullopt);
  for (int i = 0; i < 9; ++i) solved.Add(0, true);
  solved.Add(7, true);
  solved.Add(2, true);
  solved.Add(2, false);
  solved.Add(3, false);
  EXPECT_DOUBLE_EQ(solved.MeanShare().value(), (1 + 1 + 0.5 + 0) / 4);
}

TEST(Curriculum, DoublesUpToMaxScrambleIfHalfWasSolved) {
  Curriculum curriculum({.curriculum = true, .max_scramble = 6}, /*reached=*/1);
  EXPECT_EQ(curriculum.longest_scramble(), 1);
  curriculum.FillEnds(0.49);
  curriculum.FillEnds(std::nullopt);
  EXPECT_EQ(curriculum.longest_scramble(), 1);
  curriculum.FillEnds(0.5);
  EXPECT_EQ(curriculum.longest_scramble(), 2);
  curriculum.FillEnds(1);
  EXPECT_EQ(curriculum.longest_scramble(), 4);
  curriculum.FillEnds(1);
  EXPECT_EQ(curriculum.longest_scramble(), 6);
  curriculum.FillEnds(1);
  EXPECT_EQ(curriculum.longest_scramble(), 6);
  EXPECT_EQ(curriculum.reached(), 6);
}

TEST(Curriculum, GoesOnFromTheLengthReachedUpToMaxScramble) {
  const GenerateConfig config{.curriculum = true, .max_scramble = 6};
  EXPECT_EQ(Curriculum(config, 4).longest_scramble(), 4);
  EXPECT_EQ(Curriculum(config, 16).longest_scramble(), 6);
}

TEST(Curriculum, KeepsTheLengthReachedWhileItIsOff) {
  Curriculum off({.max_scramble = 6}, /*reached=*/16);
  off.FillEnds(1);
  EXPECT_EQ(off.longest_scramble(), std::nullopt);
  EXPECT_EQ(off.reached(), 16);
}

// The marker's cell, from 0 to kCells - 1. On this ring, a walk of n steps, for n of at most 30,
// ends n cells from the goal: in cell n or in cell kCells - n.
int CellOf(std::span<const std::uint8_t> state) {
  return static_cast<int>(std::ranges::find(state, 1) - state.begin());
}

class CurriculumOf : public testing::TestWithParam<GenerateSearch> {
 protected:
  static Config MakeConfig(std::int64_t max_scramble, double ball_radius = 0) {
    return GeneratorConfig({.search = GetParam(),
                            .search_iterations = kSteps,
                            .search_epsilon = 0,
                            .search_weight = 0.5,
                            .search_beam_width = 1,
                            .curriculum = true,
                            .ball_radius = ball_radius,
                            .max_scramble = max_scramble,
                            .workers = 2,
                            .chunk_rows = 64});
  }

  // Does the fills of a run, one after the other, and returns the longest scramble of each.
  std::vector<std::int64_t> LongestScrambles(Evaluator& network, std::int64_t updates,
                                             double ball_radius = 0) const {
    const Config config = MakeConfig(/*max_scramble=*/9, ball_radius);
    ValueIterationGenerator generator(ring_, network, config, MakeExactLabels(ring_, config));
    DataBuffer rows(generator.schema(), kRows);
    Curriculum curriculum(config.generate, /*reached=*/1);
    std::vector<std::int64_t> longest;
    for (std::int64_t update = 0; update < updates; ++update) {
      longest.push_back(curriculum.longest_scramble().value());
      generator.Fill({.update = update, .rows = kRows, .longest_scramble = longest.back()}, rows,
                     StopSignal());
      curriculum.FillEnds(generator.searches_solved());
    }
    return longest;
  }

  const RingDomain ring_{kCells};
};

TEST_P(CurriculumOf, GrowsToMaxScrambleWithExactEstimates) {
  StandInEvaluator truth(
      [](std::span<const std::uint8_t> state) { return float(RingDomain::Distance(state)); });
  EXPECT_EQ(LongestScrambles(truth, 6), (std::vector<std::int64_t>{1, 2, 4, 8, 9, 9}));
}

// Every search walks away from the goal, so only scrambles of 0 and 1 action are solved: 2 of 3
// lengths up to 2, but 2 of 5 lengths up to 4.
TEST_P(CurriculumOf, DoesNotGrowWithEstimatesThatMislead) {
  StandInEvaluator misleads([](std::span<const std::uint8_t> state) {
    return float(kCells - RingDomain::Distance(state));
  });
  EXPECT_EQ(LongestScrambles(misleads, 6), (std::vector<std::int64_t>{1, 2, 4, 4, 4, 4}));
}

// Every search walks away from the goal, except for those that begin in the ball or beside it:
// those with scrambles of up to 5 actions, 6 of 10 lengths.
TEST_P(CurriculumOf, CountsSearchesThatReachTheBallAsSolved) {
  StandInEvaluator misleads([](std::span<const std::uint8_t> state) {
    return float(kCells - RingDomain::Distance(state));
  });
  EXPECT_EQ(LongestScrambles(misleads, 6, /*ball_radius=*/4),
            (std::vector<std::int64_t>{1, 2, 4, 8, 9, 9}));
}

// Searches follow the estimates to lower cells. That leads to the goal from cells 1 to 30, one cell
// per step, and away from it on the other side. A search ends beside the goal.
TEST_P(CurriculumOf, SolvedShareCountsTheFirstSearchOfEachInstance) {
  constexpr std::int64_t kLongest = 14;
  StandInEvaluator cell([](std::span<const std::uint8_t> state) { return float(CellOf(state)); });
  for (const std::int64_t first_row : {0, 4}) {
    const FillRequest request{.update = 2, .first_row = first_row, .rows = kRows};
    for (const int workers : {1, 3}) {
      for (const std::int64_t chunk_rows : {1, 64, 5000}) {
        Config config = MakeConfig(kLongest);
        config.generate.workers = workers;
        config.generate.chunk_rows = chunk_rows;
        ValueIterationGenerator generator(ring_, cell, config);
        DataBuffer rows(generator.schema(), kRows);
        generator.Fill(request, rows, StopSignal());
        std::map<int, std::vector<bool>> solved;  // by length
        for (std::int64_t row = 0; row < kRows; ++row) {
          if ((first_row + row) % kSteps != 0) continue;
          const auto state = rows.column(kInputColumn)[static_cast<std::size_t>(row)];
          const int length = RingDomain::Distance(state);
          const bool leads_home = CellOf(state) <= kCells / 2 && length <= kSteps;
          solved[length].push_back(length <= 1 || leads_home);
        }
        EXPECT_GT(solved.size(), 10U);
        double sum = 0;
        for (const auto& [length, results] : solved) {
          sum += double(std::ranges::count(results, true)) / double(results.size());
        }
        EXPECT_NEAR(generator.searches_solved().value(), sum / double(solved.size()), 1e-12);
      }
    }
  }
}

TEST_P(CurriculumOf, ScramblesHaveAllLengthsUpToTheLongestOfTheRequest) {
  StandInEvaluator cell([](std::span<const std::uint8_t> state) { return float(CellOf(state)); });
  ValueIterationGenerator generator(ring_, cell, MakeConfig(/*max_scramble=*/20));
  DataBuffer rows(generator.schema(), kRows);
  const auto lengths = [&](std::optional<std::int64_t> longest) {
    generator.Fill({.update = 1, .rows = kRows, .longest_scramble = longest}, rows, StopSignal());
    std::set<int> found;
    for (std::size_t row = 0; row < kRows; row += kSteps) {
      found.insert(RingDomain::Distance(rows.column(kInputColumn)[row]));
    }
    return found;
  };
  EXPECT_EQ(lengths(3), (std::set<int>{0, 1, 2, 3}));
  const std::set<int> all = lengths(std::nullopt);
  EXPECT_GT(all.size(), 15U);
  EXPECT_LE(*all.rbegin(), 20);
}

INSTANTIATE_TEST_SUITE_P(By, CurriculumOf,
                         testing::Values(GenerateSearch::kGreedy, GenerateSearch::kBeam,
                                         GenerateSearch::kAStar),
                         [](const auto& test) {
                           return std::string(NameOf(kGenerateSearches, test.param));
                         });

TEST(SearchesSolved, IsUnknownWithoutASearch) {
  const RingDomain ring(kCells);
  StandInEvaluator nothing([](std::span<const std::uint8_t>) { return 1.0F; });
  ValueIterationGenerator generator(ring, nothing, GeneratorConfig({.max_scramble = 5}));
  DataBuffer rows(generator.schema(), 50);
  generator.Fill({.rows = 50}, rows, StopSignal());
  EXPECT_EQ(generator.searches_solved(), std::nullopt);
}

}  // namespace
}  // namespace tandem
