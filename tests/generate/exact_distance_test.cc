#include "generate/exact_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/small_puzzles.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kRows = 24'000;

Config ConfigFor(double radius, Head head = Head::kV) {
  return GeneratorConfig(
      {.target = Target::kExactDistance, .ball_radius = radius, .workers = 2, .chunk_rows = 700},
      head);
}

DataBuffer Filled(const Domain& domain, const Config& config,
                  FillRequest request = {.rows = kRows}) {
  const auto generator = MakeGenerator(domain, config, nullptr);
  EXPECT_FALSE(generator->needs_network());
  DataBuffer rows(generator->schema(), static_cast<std::size_t>(request.rows));
  generator->Fill(request, rows, StopSignal());
  return rows;
}

State StateIn(const DataBuffer& rows, std::size_t i) {
  const auto row = rows.column(kInputColumn)[i];
  return {row.begin(), row.end()};
}

std::vector<std::uint8_t> Bytes(const DataBuffer& rows, std::size_t column) {
  const auto bytes = rows.column(column).bytes();
  return {bytes.begin(), bytes.end()};
}

TEST(ExactDistance, AllStatesOfTheBallAreDrawnEquallyOftenWithTheirDistances) {
  const PancakeDomain pancakes(5);
  const StateMap distances = Distances(pancakes);
  for (const int radius : {3, 9}) {
    const auto in_ball =
        std::ranges::count_if(distances, [&](const auto& entry) { return entry.second <= radius; });
    const DataBuffer rows = Filled(pancakes, ConfigFor(radius));
    std::map<State, int, ByBytes> drawn;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const State state = StateIn(rows, i);
      EXPECT_EQ(rows.floats(kTargetColumn)[i], static_cast<float>(distances.at(state)));
      ++drawn[state];
    }
    ASSERT_EQ(std::ssize(drawn), in_ball);
    const double expected = static_cast<double>(kRows) / static_cast<double>(in_ball);
    for (const auto& [state, times] : drawn) {
      EXPECT_NEAR(times, expected, 6 * std::sqrt(expected));
    }
  }
}

TEST(ExactDistance, QNetLearnsTheExactValueOfEachAction) {
  const PancakeDomain pancakes(5);
  const StateMap distances = Distances(pancakes);
  const DataBuffer rows = Filled(pancakes, ConfigFor(3, Head::kQ), {.rows = 2000});
  ASSERT_FALSE(HasWeights(rows.schema()));
  const auto num_actions = static_cast<std::size_t>(pancakes.spec().num_actions());
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (std::size_t a = 0; a < num_actions; ++a) {
      const State child = After(pancakes, StateIn(rows, i), {static_cast<Action>(a)});
      EXPECT_EQ(rows.floats(kTargetColumn)[i * num_actions + a],
                1 + static_cast<float>(distances.at(child)));
    }
  }
}

TEST(ExactDistance, RowsDependOnSeedUpdateAndNumberOnly) {
  const PancakeDomain pancakes(5);
  const Config config = ConfigFor(9);
  const auto whole = Bytes(Filled(pancakes, config, {.update = 2, .rows = 3000}), kInputColumn);
  Config other = config;
  other.generate.workers = 1;
  other.generate.chunk_rows = 64;
  EXPECT_EQ(Bytes(Filled(pancakes, other, {.update = 2, .rows = 3000}), kInputColumn), whole);
  const auto part =
      Bytes(Filled(pancakes, config, {.update = 2, .first_row = 1100, .rows = 50}), kInputColumn);
  EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(1100 * 5, 50 * 5)));
  EXPECT_NE(Bytes(Filled(pancakes, config, {.update = 3, .rows = 3000}), kInputColumn), whole);
  other.seed = 7;
  EXPECT_NE(Bytes(Filled(pancakes, other, {.update = 2, .rows = 3000}), kInputColumn), whole);
}

TEST(ExactDistance, RefusesPuzzlesWhoseGoalsDifferByProblem) {
  const auto sokoban = MakeDomain("sokoban");
  EXPECT_THAT([&] { MakeGenerator(*sokoban, ConfigFor(3), nullptr); },
              ThrowsMessage<InputError>(HasSubstr("each problem has a goal of its own")));
}

}  // namespace
}  // namespace tandem
