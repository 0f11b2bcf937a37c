// Searches that hash children before they build them must give the same results as searches that
// build all of them.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "domain/random_walks.h"
#include "search/expander.h"
#include "search/hash_set.h"
#include "support/built_first_domain.h"
#include "support/erratic_evaluator.h"
#include "support/goal_ball.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kMany = 40;  // states, more than are expanded in the cache at a time

// States that are 0, 1, 2, ... steps from the goal, and again from 20 states on.
State Walks(const Domain& domain) {
  const auto state_size = static_cast<std::size_t>(domain.spec().state_size);
  State states(kMany * state_size);
  for (std::size_t i = 0; i < kMany; ++i) {
    WalkFromGoal(domain, Random(5, Purpose::kScramble, 0, i), static_cast<std::int64_t>(i % 20),
                 std::span(states).subspan(i * state_size, state_size));
  }
  return states;
}

class HashesFirst : public testing::TestWithParam<const char*> {};

TEST_P(HashesFirst, KnowsOfChildrenWhatExpandKnows) {
  const auto domain = MakeDomain(GetParam());
  const auto state_size = static_cast<std::size_t>(domain->spec().state_size);
  const State states = Walks(*domain);
  const ConstRows rows(states.data(), kMany, state_size);
  const auto ball = BallOf(*domain, 2);
  Expander expanded(*domain, ball);
  expanded.Expand(rows);
  Expander hashed(*domain, ball);
  hashed.ExpandHashes(rows);

  ASSERT_EQ(hashed.size(), expanded.size());
  std::vector<std::uint32_t> all(hashed.size());
  std::iota(all.begin(), all.end(), 0U);
  State built, copied;
  const ConstRows rebuilt = hashed.Build(all, built);
  expanded.Build(all, copied);
  EXPECT_EQ(built, copied);
  std::size_t known = 0;
  for (const std::uint32_t i : all) {
    ASSERT_TRUE(std::ranges::equal(rebuilt[i], expanded.children()[i]));
    ASSERT_EQ(hashed.is_left_out()[i], expanded.is_left_out()[i]);
    ASSERT_EQ(hashed.is_goal()[i], expanded.is_goal()[i]);
    ASSERT_EQ(hashed.KnownCost(i), expanded.KnownCost(i));
    if (hashed.is_left_out()[i] != 0) continue;
    ASSERT_EQ(hashed.hashes()[i], HashState(expanded.children()[i]));
    if (std::isinf(hashed.KnownCost(i))) continue;
    ++known;
    EXPECT_TRUE(Solves(*domain, {rebuilt[i].begin(), rebuilt[i].end()}, hashed.PathToGoal(i)));
  }
  EXPECT_GT(known, 0U);
  EXPECT_LT(known, all.size());
}

INSTANTIATE_TEST_SUITE_P(All, HashesFirst,
                         testing::Values("cube3", "cube2", "permutation:megaminx", "npuzzle:3"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           const std::size_t colon = name.find(':');
                           return name.starts_with("npuzzle") || colon == std::string::npos
                                      ? name.substr(0, colon)
                                      : name.substr(colon + 1);
                         });

TEST(Expander, BuildGivesChosenChildrenInTheirOrder) {
  const PathDomain path(4);
  Expander expander(path);
  const State states = {1, 3};
  expander.ExpandHashes(ConstRows(states.data(), 2, 1));
  const std::vector<std::uint32_t> chosen = {2, 1};  // left of cell 3, and right of cell 1
  State built;
  EXPECT_TRUE(std::ranges::equal(expander.Build(chosen, built).bytes(), State{2, 2}));
  EXPECT_EQ(expander.is_left_out()[3], 1);
  EXPECT_EQ(expander.is_goal()[0], 1);
}

void ExpectSameResults(const Domain& domain, const State& start, Head head,
                       const std::shared_ptr<const GoalBall>& ball) {
  const BuiltFirstDomain built_first(domain);
  const Config config{.search = {.beam_width = 700, .max_length = 12}};
  const auto solve = [&](const Domain& as, int threads) {
    ErraticEvaluator network(head);
    BeamSearch search(as, network, config, ball);
    return tbb::task_arena(threads).execute([&] { return search.Solve(start, StopSignal()); });
  };
  const SearchResult expected = solve(built_first, 1);
  for (const int threads : {1, 4}) {
    const SearchResult result = solve(domain, threads);
    EXPECT_EQ(result.stop_reason, expected.stop_reason);
    EXPECT_EQ(result.actions, expected.actions);
    EXPECT_EQ(result.nodes, expected.nodes);
    EXPECT_EQ(result.stored, expected.stored);
    ASSERT_EQ(result.best.has_value(), expected.best.has_value());
    if (!result.best) continue;
    EXPECT_EQ(result.best->actions, expected.best->actions);
    EXPECT_EQ(result.best->estimate, expected.best->estimate);
  }
}

TEST(BeamSearch, HashingFirstGivesTheSameResults) {
  const auto cube = MakeDomain("cube3");
  const auto ball = BallOf(*cube, 2);
  const RingDomain ring(30, {1, 3});  // with unequal costs
  const State walks = Walks(*cube);
  for (const Head head : {Head::kV, Head::kQ, Head::kPolicy}) {
    for (const auto& with : {std::shared_ptr<const GoalBall>(), ball}) {
      ExpectSameResults(*cube, {walks.end() - 54, walks.end()}, head, with);
      ExpectSameResults(*cube, {walks.begin() + 3 * 54, walks.begin() + 4 * 54}, head, with);
    }
    ExpectSameResults(ring, ring.At(9), head, nullptr);
  }
}

}  // namespace
}  // namespace tandem
