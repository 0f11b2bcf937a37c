// Tests that every search ends where no action applies.
#include <gtest/gtest.h>

#include "search/anytime_beam_search.h"
#include "search/astar.h"
#include "search/beam_search.h"
#include "search/greedy_descent.h"
#include "search/greedy_search.h"
#include "search/hint.h"
#include "search/ida_star.h"
#include "search/q_star.h"
#include "support/pits_domain.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes kPit = {8 + 3};
const Bytes kCell = {3};

// Estimates of the pits' puzzle, as a V net and as a Q net.
class PitsNet final : public QEvaluator {
 public:
  PitsNet(const PitsDomain& pits, float of_pit) : pits_(pits), of_pit_(of_pit) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = Estimate(inputs[i]);
  }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    Bytes children(inputs.size() * 3);
    pits_.Expand(inputs, Rows(children.data(), children.size(), 1));
    for (std::size_t i = 0; i < children.size(); ++i) values[i] = 1 + Estimate({&children[i], 1});
  }

 private:
  float Estimate(std::span<const std::uint8_t> state) const {
    return pits_.IsPit(state) ? of_pit_ : pits_.Truth(state);
  }

  const PitsDomain& pits_;
  const float of_pit_;
};

// Solves from a state by every search, by states and by actions, and returns the results.
std::vector<SearchResult> SolveByAll(QEvaluator& net, const PitsDomain& pits, const Bytes& start) {
  Config config;
  config.search.max_seconds = 60;
  config.search.beam_width = 3;
  config.search.weight = 1;
  const StopSignal stop;
  std::vector<SearchResult> results;
  for (const Head head : {Head::kQ, Head::kV}) {
    config.network.head = head;
    results.push_back(BeamSearch(pits, net, config).Solve(start, stop));
    results.push_back(AnytimeBeamSearch(pits, net, config).Solve(start, stop));
  }
  results.push_back(AStar(pits, net, config).Solve(start, stop));
  results.push_back(QStar(pits, net, config).Solve(start, stop));
  results.push_back(IdaStar(pits, net, config).Solve(start, stop));
  return results;
}

TEST(SearchesInDeadEnds, EndUnsolvedIfNoActionApplies) {
  const PitsDomain pits(8);
  PitsNet net(pits, 0);
  for (const SearchResult& result : SolveByAll(net, pits, kPit)) {
    EXPECT_FALSE(result.solved);
    EXPECT_EQ(result.ended, Ended::kExhausted);
    EXPECT_LE(result.expanded, 3);  // Q* counts actions
  }
}

TEST(SearchesInDeadEnds, FindTheWayPastPitsThatLookGood) {
  const PitsDomain pits(8);
  PitsNet net(pits, 0);
  for (const SearchResult& result : SolveByAll(net, pits, kCell)) {
    EXPECT_TRUE(result.solved);
    EXPECT_EQ(result.actions, (std::vector<Action>{0, 0, 0}));
  }
}

TEST(SearchesInDeadEnds, BeamThatKeepsOnlyAPitIsExhausted) {
  const PitsDomain pits(8);
  PitsNet net(pits, 0);
  Config config;
  config.search.beam_width = 1;
  const SearchResult result = BeamSearch(pits, net, config).Solve(kCell, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.ended, Ended::kExhausted);
}

TEST(SearchesInDeadEnds, GreedySearchEndsInAPitThatLooksGood) {
  const PitsDomain pits(8);
  PitsNet lure(pits, 0);
  PitsNet truth(pits, 100);
  for (const Head head : {Head::kV, Head::kQ}) {
    const auto solve = [&](PitsNet& net, const Bytes& start) {
      return GreedySearch(pits, net, {.network = {.head = head}}).Solve(start, StopSignal());
    };
    EXPECT_EQ(solve(lure, kPit).ended, Ended::kExhausted);
    EXPECT_EQ(solve(lure, kCell).ended, Ended::kExhausted);
    EXPECT_EQ(solve(truth, kCell).actions, (std::vector<Action>{0, 0, 0}));
  }
}

TEST(SearchesInDeadEnds, DescentEndsInAPitAndGivesNoHint) {
  const PitsDomain pits(8);
  PitsNet lure(pits, 0);
  PitsNet truth(pits, 100);
  const Bytes starts = {0, 3, 8 + 3};
  const ConstRows rows(starts.data(), 3, 1);
  const std::int64_t most[] = {50, 50, 50};
  using Taken = std::vector<std::optional<std::int64_t>>;
  EXPECT_EQ(DescendGreedily(pits, lure, 100, rows, most, StopSignal()),
            (Taken{0, std::nullopt, std::nullopt}));
  EXPECT_EQ(DescendGreedily(pits, truth, 100, rows, most, StopSignal()),
            (Taken{0, 3, std::nullopt}));
  EXPECT_EQ(DescendByPolicy(pits, truth, 100, rows, most, StopSignal()),
            (Taken{0, 3, std::nullopt}));
  EXPECT_FALSE(HintByStates(pits, truth, kPit).action.has_value());
  EXPECT_FALSE(HintByActions(pits, truth, kPit).action.has_value());
  EXPECT_FALSE(HintByPolicy(pits, truth, kPit).action.has_value());
}

}  // namespace
}  // namespace tandem
