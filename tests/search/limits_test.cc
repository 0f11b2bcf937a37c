// Tests of stops, errors and limits, which every search promises (search.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "config/choices.h"
#include "search/search.h"
#include "support/erratic_evaluator.h"
#include "support/head_evaluator.h"
#include "support/ring_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "support/wait.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::HasSubstr;

constexpr double kOneByte = 1.0 / (1 << 30);  // in GiB
constexpr double kAmple = 1000;  // seconds; no search of these tests takes nearly as long

// The first state is odd, so no moves solve it. One move solves the second.
const State kHardAndEasy = {1, 0, 2, 3, 4, 5, 1, 2, 0, 3, 4, 5};
const State kHard(kHardAndEasy.begin(), kHardAndEasy.begin() + 6);

// The results of the hard and the easy state.
std::vector<SearchResult> SolveBoth(Search& search) {
  std::vector<SearchResult> results(2);
  search.SolveAll(ConstRows(kHardAndEasy.data(), 2, 6), StopSignal(),
                  [&](std::size_t i, SearchResult result) { results[i] = std::move(result); });
  return results;
}

// Checks that a limit ended the hard search, and that the easy state was solved nevertheless.
void ExpectLimit(const std::vector<SearchResult>& results, StopReason limit) {
  EXPECT_FALSE(results[0].solved);
  EXPECT_EQ(results[0].stop_reason, limit);
  ASSERT_TRUE(results[0].best.has_value());
  const CycleDomain cycles(6);
  EXPECT_EQ(NumberOf(After(cycles, kHard, results[0].best->actions)), results[0].best->estimate);
  EXPECT_TRUE(results[1].solved);
  EXPECT_EQ(results[1].actions.size(), 1U);
}

TEST(NodeLimit, BeamSearchEndsBeforeItGeneratesMoreStates) {
  const CycleDomain cycles(6);
  float least = 1000;
  StandInEvaluator anything([&](std::span<const std::uint8_t> state) {
    least = std::min(least, NumberOf(state));
    return NumberOf(state);
  });
  BeamSearch search(cycles, anything,
                    {.search = {.beam_width = 5, .max_length = 1000, .max_nodes = 127}});
  const SearchResult hard = search.Solve(kHard, StopSignal());
  EXPECT_EQ(hard.nodes, 8 + 35 + 35 + 35);  // another depth would need 35 more
  EXPECT_EQ(hard.best->estimate, least);
  const auto results = SolveBoth(search);
  ExpectLimit(results, StopReason::kNodeLimit);
  EXPECT_EQ(
      search.Failure(results[0]),
      "no solution found with 127 nodes (search.max_nodes); lower search.beam_width, or raise "
      "search.max_nodes");
}

TEST(NodeLimit, AllowsExactlyAsManyNodes) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  const State start = ring.At(7);
  for (const bool enough : {false, true}) {
    // 7 steps of 2 children. The beam takes no step back.
    BeamSearch beam(ring, truth, {.search = {.beam_width = 1, .max_nodes = enough ? 8 : 7}});
    EXPECT_EQ(beam.Solve(start, StopSignal()).solved, enough);
    GreedySearch greedy(ring, truth, {.search = {.max_nodes = enough ? 14 : 13}});
    EXPECT_EQ(greedy.Solve(start, StopSignal()).solved, enough);
  }
}

TEST(NodeLimit, BidirectionalBeamCountsBothBeams) {
  const CycleDomain cycles(6);
  StandInEvaluator anything(NumberOf);
  BeamSearch search(cycles, anything,
                    {.search = {.method = SearchMethod::kBidirectionalBeam,
                                .beam_width = 5,
                                .max_length = 1000,
                                .max_nodes = 100}});
  const SearchResult hard = search.Solve(kHard, StopSignal());
  EXPECT_EQ(hard.stop_reason, StopReason::kNodeLimit);
  EXPECT_EQ(hard.nodes, 16 + 35 + 35);
  EXPECT_TRUE(SolveBoth(search)[1].solved);
}

TEST(NodeLimit, AnytimeBeamAddsUpItsBeams) {
  const CycleDomain cycles(6);
  StandInEvaluator anything(NumberOf);
  const auto solve = [&](std::int64_t max_nodes) {
    AnytimeBeamSearch search(
        cycles, anything,
        {.search = {.beam_width = 1000, .max_nodes = max_nodes, .max_seconds = kAmple}});
    return SolveBoth(search);
  };
  const std::int64_t needed = solve(0)[0].nodes;  // of all beams
  ASSERT_EQ(solve(0)[0].stop_reason, StopReason::kExhausted);
  for (const std::int64_t limit : {needed / 10, needed / 3, needed - 1}) {
    const auto results = solve(limit);
    ExpectLimit(results, StopReason::kNodeLimit);
    EXPECT_LE(results[0].nodes, limit);
  }
}

TEST(NodeLimit, GreedySearchReportsTheBestStateOnItsPath) {
  const CycleDomain cycles(6);
  StandInEvaluator anything(NumberOf);
  GreedySearch search(cycles, anything, {.search = {.max_length = 1000, .max_nodes = 30}});
  const auto results = SolveBoth(search);
  ExpectLimit(results, StopReason::kNodeLimit);
  EXPECT_EQ(results[0].nodes, 24);  // 3 steps of 8 children
  EXPECT_EQ(search.Failure(results[0]),
            "no solution found with 30 nodes (search.max_nodes); raise search.max_nodes");
}

TEST(NodeLimit, AutoLimitsAStar) {
  EXPECT_EQ(SearchConfig().max_nodes, std::nullopt);
  const RingDomain ring(20);
  StandInEvaluator anything(NumberOf);
  const auto memory_of = [&](const SearchConfig& config) {
    testing::internal::CaptureStderr();
    AStar(ring, anything, {.search = config});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(memory_of({.instances = 1}).find("at most 10,000,000 nodes"), std::string::npos);
  EXPECT_NE(memory_of({.max_nodes = 0}).find("no limit"), std::string::npos);
}

TEST(MemoryLimit, BeamSearchEndsAndOthersGoOn) {
  const CycleDomain cycles(6);
  StandInEvaluator anything(NumberOf);
  // The 360 odd states would take about 7,000 bytes, and a depth takes about 2,000 more.
  BeamSearch search(cycles, anything,
                    {.search = {.beam_width = 5, .max_length = 1000, .max_gib = 3000 * kOneByte}});
  const auto results = SolveBoth(search);
  ExpectLimit(results, StopReason::kMemoryLimit);
  EXPECT_LE(results[0].bytes, 3000);
  EXPECT_EQ(search.Failure(results[0]),
            "no solution found within 2.9 KiB (search.max_gib); lower search.beam_width, or raise "
            "search.max_gib");
}

// The states of narrow beams soon take more than those of the next depth. Then the tables that hold
// them are what grows most at once.
TEST(MemoryLimit, BeamSearchCountsTheGrowthOfItsTables) {
  const CycleDomain cycles(7);
  const State odd = {1, 0, 2, 3, 4, 5, 6};
  StandInEvaluator anything(NumberOf);
  for (const SearchMethod method : {SearchMethod::kBeam, SearchMethod::kBidirectionalBeam}) {
    int limited = 0;
    for (double most = 4000; most < 100'000; most *= 1.1) {
      BeamSearch search(cycles, anything,
                        {.search = {.method = method,
                                    .beam_width = 2,
                                    .max_length = 10'000,
                                    .max_gib = most * kOneByte}});
      const SearchResult result = search.Solve(odd, StopSignal());
      limited += result.stop_reason == StopReason::kMemoryLimit ? 1 : 0;
      EXPECT_LE(static_cast<double>(result.bytes), most);
    }
    EXPECT_GT(limited, 10);
  }
}

TEST(MemoryLimit, BeamSearchCountsTheChildrenThatItWillMake) {
  const CycleDomain cycles(6);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  BeamSearch search(cycles, never,
                    {.search = {.beam_width = 5, .max_length = 1000, .max_gib = 100 * kOneByte}});
  const SearchResult result = search.Solve(kHard, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kMemoryLimit);
  EXPECT_EQ(result.nodes, 0);
}

TEST(MemoryLimit, AnytimeBeamKeepsTheSolutionOfANarrowBeam) {
  const PancakeDomain pancakes(6);
  StandInEvaluator misleads(NumberOf);
  BeamSearch narrow(pancakes, misleads, {.search = {.beam_width = 64}});
  int limited = 0;
  for (const auto& [state, distance] : Distances(pancakes)) {
    if (distance < 6) continue;
    const SearchResult first = narrow.Solve(state, StopSignal());
    // As much as a beam of 64 states may take. A beam of 512 states takes more at depth 4, where
    // all 199 states have 5 children.
    AnytimeBeamSearch search(
        pancakes, misleads,
        {.search = {.beam_width = 1000, .max_gib = 36'000 * kOneByte, .max_seconds = kAmple}});
    const SearchResult result = search.Solve(state, StopSignal());
    if (result.stop_reason != StopReason::kMemoryLimit) continue;
    ++limited;
    EXPECT_EQ(result.solved, first.solved);
    EXPECT_EQ(result.actions, WithoutDetours(pancakes, state, first.actions));
  }
  EXPECT_GT(limited, 0);
}

TEST(MemoryLimit, GreedySearchEndsOnItsWay) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  // A string of 20 bytes for each state on the path, and 60 bytes for the two children of the next
  // step.
  constexpr double kState = 20 + sizeof(std::string);
  GreedySearch search(ring, truth, {.search = {.max_gib = (4.5 * kState + 60) * kOneByte}});
  const State start = ring.At(7);
  const SearchResult result = search.Solve(start, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kMemoryLimit);
  EXPECT_EQ(result.stored, 5);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, 3.0F);
}

TEST(MemoryLimit, AStarEndsBelowItAndOthersGoOn) {
  const CycleDomain cycles(9);  // 181,440 states are odd
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  AStar search(cycles, zero,
               {.search = {.weight = 1, .batch = 100, .instances = 2, .max_gib = 1.0 / 1024}});
  const State starts = {1, 0, 2, 3, 4, 5, 6, 7, 8, 1, 2, 0, 3, 4, 5, 6, 7, 8};
  std::vector<SearchResult> results(2);
  search.SolveAll(ConstRows(starts.data(), 2, 9), StopSignal(),
                  [&](std::size_t i, SearchResult result) { results[i] = std::move(result); });
  EXPECT_EQ(results[0].stop_reason, StopReason::kMemoryLimit);
  EXPECT_LE(results[0].bytes, 1 << 20);
  EXPECT_GT(results[0].bytes, 1 << 18);  // and not far below it
  EXPECT_TRUE(results[0].best.has_value());
  EXPECT_EQ(search.Failure(results[0]),
            "no solution found within 1.0 MiB (search.max_gib); lower search.weight (1), or raise "
            "search.max_gib");
  EXPECT_EQ(results[1].actions.size(), 1U);
}

// The seconds that `search` reports for starts that it searches together.
double SecondsOfAll(Search& search, ConstRows starts) {
  double seconds = 0;
  search.SolveAll(starts, StopSignal(), [&](std::size_t, const SearchResult& result) {
    EXPECT_TRUE(result.solved);
    EXPECT_GT(result.seconds, 0);
    seconds += result.seconds;
  });
  return seconds;
}

TEST(TimeLimit, IsOfEachPuzzleWhichTakesItsShareOfTheTime) {
  constexpr std::size_t kStarts = 100;
  const RingDomain ring(20);
  StandInEvaluator truth([](std::span<const std::uint8_t> state) {
    TakeTime(std::chrono::microseconds(500));
    return RingDomain::Estimate(state);
  });
  std::vector<std::uint8_t> starts(kStarts * 20, 0);
  for (std::size_t i = 0; i < kStarts; ++i) starts[i * 20 + 7] = 1;
  const ConstRows rows(starts.data(), kStarts, 20);
  // Every puzzle needs at least 8 estimates, so all together take at least 400 ms. That is longer
  // than the limit of one puzzle, whose share of the time is far below the limit.
  const Config config{.search = {.instances = kStarts, .max_seconds = 0.3}};
  GreedySearch greedy(ring, truth, config);
  IdaStar ida_star(ring, truth, config);
  AStar astar(ring, truth, config);
  for (Search* search : {static_cast<Search*>(&greedy), static_cast<Search*>(&ida_star),
                         static_cast<Search*>(&astar)}) {
    const Stopwatch watch;
    const double seconds = SecondsOfAll(*search, rows);
    EXPECT_LE(seconds, watch.Seconds()) << search->Describe();
    EXPECT_GT(watch.Seconds(), config.search.max_seconds);
  }
}

// A search method, and the head of the network that it searches with.
struct MethodAndHead {
  Choice<SearchMethod> method;
  Head head;
};

std::vector<MethodAndHead> AllMethods() {
  std::vector<MethodAndHead> all;
  for (const Choice<SearchMethod>& method : kSearchMethods) {
    if (PlaysGames(method.value)) continue;
    // Q* needs the values of actions.
    if (method.value != SearchMethod::kQStar) all.push_back({method, Head::kV});
    all.push_back({method, Head::kQ});
  }
  return all;
}

// Gives every state and every action the same value, and requests `stop` if there is one.
class SameValue final : public HeadEvaluator {
 public:
  SameValue(Head head, float value, StopSignal* stop = nullptr)
      : HeadEvaluator(head), value_(value), stop_(stop) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override { Answer(inputs, values); }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    Answer(inputs, values);
  }

  int calls = 0;
  State first;  // the first state that was evaluated

 private:
  void Answer(ConstRows inputs, std::span<float> values) {
    if (calls++ == 0) first.assign(inputs[0].begin(), inputs[0].end());
    if (stop_ != nullptr) stop_->Request();
    std::ranges::fill(values, value_);
  }

  const float value_;
  StopSignal* const stop_;
};

class EverySearch : public testing::TestWithParam<MethodAndHead> {
 protected:
  // A beam of one state cannot hold both children of the start, so every search evaluates states.
  std::unique_ptr<Search> Make(Evaluator& network, double max_seconds = kAmple) const {
    return MakeSearch(
        ring_, network,
        {.search = {
             .method = GetParam().method.value, .beam_width = 1, .max_seconds = max_seconds}});
  }

  const RingDomain ring_{20};
  const State start_ = ring_.At(7);
};

TEST_P(EverySearch, ThrowsStoppedBeforeItEvaluatesIfAStopWasRequested) {
  SameValue network(GetParam().head, 1);
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(Make(network)->Solve(start_, stop), Stopped);
  EXPECT_EQ(network.calls, 0);
}

TEST_P(EverySearch, ThrowsStoppedAfterTheEvaluationInWhichAStopIsRequested) {
  StopSignal stop;
  SameValue network(GetParam().head, 1, &stop);
  EXPECT_THROW(Make(network)->Solve(start_, stop), Stopped);
  EXPECT_EQ(network.calls, 1);
}

TEST_P(EverySearch, ThrowsErrorThatNamesTheStateIfAnEstimateIsNan) {
  SameValue network(GetParam().head, std::numeric_limits<float>::quiet_NaN());
  const std::unique_ptr<Search> search = Make(network);
  std::string message;
  try {
    search->Solve(start_, StopSignal());
  } catch (const Error& error) {
    message = error.what();
  }
  ASSERT_EQ(network.calls, 1);
  EXPECT_THAT(message, HasSubstr("estimate of the ring state " + ring_.FormatState(network.first)));
}

TEST_P(EverySearch, EndsAtATimeLimitThatIsOverAtOnce) {
  SameValue network(GetParam().head, 1);
  const std::unique_ptr<Search> search = Make(network, /*max_seconds=*/1e-9);
  const SearchResult result = search->Solve(start_, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kTimeLimit);
  EXPECT_THAT(search->Failure(result), HasSubstr("raise search.max_seconds"));
  EXPECT_LE(network.calls, 2);  // A* and Q* look at the time after their first step
}

INSTANTIATE_TEST_SUITE_P(All, EverySearch, testing::ValuesIn(AllMethods()), [](const auto& info) {
  return std::string(info.param.method.name) + (info.param.head == Head::kV ? "_v" : "_q");
});

}  // namespace
}  // namespace tandem
