// Compares beam search by tensor operations with BeamSearch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "domain/random_walks.h"
#include "support/device_with_kernel.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tensor/tensor_programs.h"

namespace tandem {
namespace {

// Its moves have different costs, so the cheapest of several equal children counts.
class CostlyPancakes final : public PermutationDomain {
 public:
  CostlyPancakes()
      : PermutationDomain({.name = "costly",
                           .summary = "for tests",
                           .action_names = {"m2", "m3", "m4", "m5"},
                           .action_costs = {1, 1.7F, 0.4F, 2.3F}},
                          {0, 1, 2, 3, 4},
                          {{1, 0, 2, 3, 4}, {2, 1, 0, 3, 4}, {3, 2, 1, 0, 4}, {4, 3, 2, 1, 0}}) {}
  void ParseState(std::string_view, std::span<std::uint8_t>) const override {}
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return {state.begin(), state.end()};
  }
};

// Networks with random weights guide both searches, on the same CPU.
class TensorBeamSearchTest : public testing::TestWithParam<bool> {
 protected:
  static Config ConfigFor(std::int64_t width) {
    Config config;
    config.network.width = 16;
    config.network.blocks = 1;
    config.inference = {.batch_size = 64,
                        .threads = 1,
                        .precision = Precision::kFp32,
                        .backend = BackendKind::kReference};
    config.search.beam_width = width;
    config.search.max_length = 30;
    return config;
  }

  std::unique_ptr<InferenceNet> NetFor(const Domain& domain, const Config& config) const {
    const NetworkSpec spec = NetworkFor(config.network, domain.spec());
    auto net = std::make_unique<InferenceNet>(spec, config.inference, *device_);
    net->Load(*MakeNetwork(spec, 3));
    return net;
  }

  // Solves `start` in both ways, expects the same, and returns the result.
  SearchResult Compare(const Domain& domain, const Config& config, const State& start) const {
    const auto net = NetFor(domain, config);
    return Compare(domain, config, *net, start);
  }

  SearchResult Compare(const Domain& domain, const Config& config, InferenceNet& net,
                       const State& start) const {
    const auto ball = MakeGoalBall(domain, config.search.ball_radius, config.memory);
    BeamSearch beam(domain, net, config, ball);
    const auto tensors = MakeTensorBeamSearch(domain, net, config, *device_, ball);
    const SearchResult expected = beam.Solve(start, StopSignal());
    const SearchResult result = tensors->Solve(start, StopSignal());
    EXPECT_EQ(result.solved, expected.solved);
    EXPECT_EQ(result.stop_reason, expected.stop_reason)
        << NameOf(result.stop_reason) << ", " << NameOf(expected.stop_reason);
    EXPECT_EQ(result.actions, expected.actions);
    EXPECT_EQ(result.cost, expected.cost);
    EXPECT_EQ(result.nodes, expected.nodes);
    EXPECT_EQ(result.expanded, expected.expanded);
    EXPECT_EQ(result.stored, expected.stored);
    EXPECT_EQ(result.dropped_states, expected.dropped_states);
    EXPECT_EQ(result.best.has_value(), expected.best.has_value());
    if (result.best && expected.best) {
      EXPECT_EQ(result.best->actions, expected.best->actions);
      EXPECT_EQ(result.best->estimate, expected.best->estimate);
      EXPECT_EQ(result.best->cost, expected.best->cost);
    }
    EXPECT_TRUE(!result.solved || Solves(domain, start, result.actions));
    return result;
  }

  const std::unique_ptr<Device> device_ = OpenCpu(GetParam());
};

// Far from the goal.
const State kPancakes = {5, 4, 0, 1, 3, 2};

State ScrambleOf(const Domain& domain, std::int64_t steps, std::uint64_t number) {
  State state(static_cast<std::size_t>(domain.spec().state_size));
  WalkFromGoal(domain, Random(2, Purpose::kScramble, 0, number), steps, state);
  return state;
}

TEST_P(TensorBeamSearchTest, WidthWhoseChildrenCudaCannotSortIsRefused) {
  const PancakeDomain pancakes(6);
  const Config config = ConfigFor(1);
  const auto net = NetFor(pancakes, config);
  const auto make = [&](std::int64_t width) {
    MakeTensorBeamSearch(pancakes, *net, ConfigFor(width), *device_);
  };
  make(429'496'729);
  EXPECT_THAT([&] { make(429'496'730); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr(
                  "search.beam_width: 429496730, expected at most 429496729 with 5 actions")));
}

TEST_P(TensorBeamSearchTest, KeepsTheStatesOfBeamSearchWithAnyWidth) {
  const PancakeDomain pancakes(6);
  for (const std::int64_t width : {1, 7, 50, 1000}) {
    for (std::uint64_t number = 0; number < 10; ++number) {
      Compare(pancakes, ConfigFor(width), ScrambleOf(pancakes, 20, number));
    }
  }
}

TEST_P(TensorBeamSearchTest, SolvesCubesAsBeamSearchDoes) {
  for (const char* name : {"cube3", "cube3:pieces", "cube2"}) {
    const auto cube = MakeDomain(name);
    int solved = 0;
    for (std::uint64_t number = 0; number < 3; ++number) {
      Config config = ConfigFor(300);
      config.search.max_length = 8;
      solved += Compare(*cube, config, ScrambleOf(*cube, 3, number)).solved ? 1 : 0;
      Compare(*cube, config, ScrambleOf(*cube, 12, number));
    }
    EXPECT_EQ(solved, 3);
  }
}

TEST_P(TensorBeamSearchTest, StartsFromThePositionAndItsInverseAsBeamSearchDoes) {
  const auto cube = MakeDomain("cube3");
  int other = 0;
  for (std::uint64_t number = 0; number < 10; ++number) {
    Config config = ConfigFor(200);
    config.search.max_length = 9;
    config.search.ball_radius = 3;
    const State start = ScrambleOf(*cube, 5 + static_cast<std::int64_t>(number % 4), number);
    const SearchResult alone = Compare(*cube, config, start);
    config.search.inverse = UseInverse::kYes;
    if (Compare(*cube, config, start).actions != alone.actions) ++other;
  }
  EXPECT_GT(other, 0);
}

TEST_P(TensorBeamSearchTest, TiesGoToTheFirstChild) {
  const PancakeDomain pancakes(6);
  const Config config = ConfigFor(5);
  const auto net = NetFor(pancakes, config);
  for (const auto& [name, weight] : net->State()) weight.fill_(0);
  for (std::uint64_t number = 0; number < 10; ++number) {
    Compare(pancakes, config, *net, ScrambleOf(pancakes, 20, number));
  }
}

TEST_P(TensorBeamSearchTest, TheCheapestOfEqualChildrenCounts) {
  const CostlyPancakes pancakes;
  for (const std::int64_t width : {1, 4, 1000}) {
    for (std::uint64_t number = 0; number < 10; ++number) {
      Compare(pancakes, ConfigFor(width), ScrambleOf(pancakes, 15, number));
    }
  }
}

TEST_P(TensorBeamSearchTest, AllowedCostEndsItAsItEndsBeamSearch) {
  const CostlyPancakes pancakes;
  int excluded = 0;
  for (const double at_most : {0.5, 1.5, 3.0, 6.0}) {
    for (std::uint64_t number = 0; number < 10; ++number) {
      Config config = ConfigFor(1000);
      config.search.at_most = at_most;
      const SearchResult result = Compare(pancakes, config, ScrambleOf(pancakes, 15, number));
      EXPECT_LE(result.cost, at_most * 1.0001);
      if (result.stop_reason == StopReason::kCostLimit) ++excluded;
    }
  }
  EXPECT_GT(excluded, 0);
}

TEST_P(TensorBeamSearchTest, ABallCompletesSolutionsAsInBeamSearch) {
  const PancakeDomain equal(6);
  const CostlyPancakes costly;
  for (const Domain* domain :
       {static_cast<const Domain*>(&equal), static_cast<const Domain*>(&costly)}) {
    for (const std::int64_t max_length : {3, 30}) {
      for (std::uint64_t number = 0; number < 10; ++number) {
        Config config = ConfigFor(8);
        config.search.ball_radius = 2.5;
        config.search.max_length = max_length;
        Compare(*domain, config, ScrambleOf(*domain, 20, number));
      }
    }
  }
}

TEST_P(TensorBeamSearchTest, EveryLimitEndsIt) {
  const auto cube = MakeDomain("cube3");
  const State start = ScrambleOf(*cube, 20, 0);
  Config config = ConfigFor(20);
  config.search.max_length = 4;
  EXPECT_EQ(Compare(*cube, config, start).stop_reason, StopReason::kLengthLimit);
  config = ConfigFor(20);
  config.search.max_nodes = 500;
  const SearchResult few = Compare(*cube, config, start);
  EXPECT_EQ(few.stop_reason, StopReason::kNodeLimit);
  EXPECT_LE(few.nodes, 500);
  config = ConfigFor(20);
  config.search.max_seconds = 1e-9;
  EXPECT_EQ(Compare(*cube, config, start).stop_reason, StopReason::kTimeLimit);
  config = ConfigFor(20);
  config.search.max_gib = 1e-6;
  const auto net = NetFor(*cube, config);
  const auto search = MakeTensorBeamSearch(*cube, *net, config, *device_);
  const SearchResult small = search->Solve(start, StopSignal());
  EXPECT_EQ(small.stop_reason, StopReason::kMemoryLimit);
  EXPECT_LE(small.bytes, config.search.max_bytes());
  EXPECT_EQ(search->Failure(small), BeamSearch(*cube, *net, config).Failure(small));
}

// The last depth has more than 90,000 new states, each of which is a batch of its own.
TEST_P(TensorBeamSearchTest, TheTimeLimitEndsADepthBetweenItsBatches) {
  const auto cube = MakeDomain("cube3");
  Config config = ConfigFor(20'000);
  config.inference.batch_size = 1;
  config.search.max_length = 5;
  config.search.max_seconds = 0.2;
  const auto net = NetFor(*cube, config);
  const auto search = MakeTensorBeamSearch(*cube, *net, config, *device_);
  const SearchResult result = search->Solve(ScrambleOf(*cube, 20, 0), StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kTimeLimit);
  EXPECT_LT(result.stored, config.search.beam_width);  // nothing of the last depth, which fills it
}

TEST_P(TensorBeamSearchTest, AStateWithoutASolutionExhaustsTheBeam) {
  const CycleDomain cycles(5);  // reaches only even permutations
  EXPECT_EQ(Compare(cycles, ConfigFor(1000), {1, 0, 2, 3, 4}).stop_reason, StopReason::kExhausted);
  const Config config = ConfigFor(5);
  const auto net = NetFor(cycles, config);
  const auto search = MakeTensorBeamSearch(cycles, *net, config, *device_);
  const SearchResult result = search->Solve(State{5, 1, 2, 3, 4}, StopSignal());  // has no 0
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(search->Failure(result),
            "the puzzle has no solution: no state that can be reached is a goal");
}

TEST_P(TensorBeamSearchTest, AGoalNeedsNoActions) {
  const PancakeDomain pancakes(5);
  const SearchResult result = Compare(pancakes, ConfigFor(5), {0, 1, 2, 3, 4});
  EXPECT_TRUE(result.solved);
  EXPECT_EQ(result.nodes, 0);
}

TEST_P(TensorBeamSearchTest, AStopEndsIt) {
  const PancakeDomain pancakes(6);
  const Config config = ConfigFor(5);
  const auto net = NetFor(pancakes, config);
  const auto search = MakeTensorBeamSearch(pancakes, *net, config, *device_);
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(search->Solve(kPancakes, stop), Stopped);
}

TEST_P(TensorBeamSearchTest, AnEstimateThatIsNotANumberIsAnError) {
  const PancakeDomain pancakes(6);
  const Config config = ConfigFor(2);
  const auto net = NetFor(pancakes, config);
  for (const auto& [name, weight] : net->State()) weight.fill_(std::nanf(""));
  const auto search = MakeTensorBeamSearch(pancakes, *net, config, *device_);
  EXPECT_THROW(search->Solve(kPancakes, StopSignal()), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, TensorBeamSearchTest, testing::Bool(), NameOfDevice);

}  // namespace
}  // namespace tandem
