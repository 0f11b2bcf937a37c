// Tests that every search ends where no action applies.
#include <gtest/gtest.h>

#include "search/greedy_search.h"
#include "support/head_evaluator.h"
#include "support/pits_domain.h"
#include "support/searches.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes kPit = {8 + 3};
const Bytes kCell = {3};

// Estimates of the pits' puzzle. A Q net gives those of the children, and so does a policy, whose
// values need not be probabilities.
class PitsNet final : public HeadEvaluator {
 public:
  PitsNet(Head head, const PitsDomain& pits, float of_pit)
      : HeadEvaluator(head), pits_(pits), of_pit_(of_pit) {}

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
std::vector<SearchResult> SolveByAll(const PitsDomain& pits, const Bytes& start) {
  PitsNet v_net(Head::kV, pits, 0);
  PitsNet q_net(Head::kQ, pits, 0);
  Config config;
  config.search.max_seconds = 60;
  config.search.beam_width = 3;
  config.search.weight = 1;
  const StopSignal stop;
  std::vector<SearchResult> results;
  for (PitsNet* net : {&q_net, &v_net}) {
    results.push_back(BeamSearch(pits, *net, config).Solve(start, stop));
    results.push_back(AnytimeBeamSearch(pits, *net, config).Solve(start, stop));
  }
  results.push_back(AStar(pits, v_net, config).Solve(start, stop));
  results.push_back(QStar(pits, q_net, config).Solve(start, stop));
  results.push_back(IdaStar(pits, v_net, config).Solve(start, stop));
  return results;
}

TEST(SearchesInDeadEnds, EndUnsolvedIfNoActionApplies) {
  const PitsDomain pits(8);
  for (const SearchResult& result : SolveByAll(pits, kPit)) {
    EXPECT_FALSE(result.solved);
    EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
    EXPECT_LE(result.expanded, 3);  // Q* counts actions
  }
}

TEST(SearchesInDeadEnds, FindTheWayPastPitsThatLookGood) {
  const PitsDomain pits(8);
  for (const SearchResult& result : SolveByAll(pits, kCell)) {
    EXPECT_TRUE(result.solved);
    EXPECT_EQ(result.actions, (std::vector<Action>{0, 0, 0}));
  }
}

TEST(SearchesInDeadEnds, BeamThatKeepsOnlyAPitIsExhausted) {
  const PitsDomain pits(8);
  PitsNet net(Head::kV, pits, 0);
  Config config;
  config.search.beam_width = 1;
  const SearchResult result = BeamSearch(pits, net, config).Solve(kCell, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
}

TEST(SearchesInDeadEnds, GreedySearchEndsInAPitThatLooksGood) {
  const PitsDomain pits(8);
  for (const Head head : {Head::kV, Head::kQ}) {
    PitsNet lure(head, pits, 0);
    PitsNet truth(head, pits, 100);
    const auto solve = [&](PitsNet& net, const Bytes& start) {
      return GreedySearch(pits, net, Config()).Solve(start, StopSignal());
    };
    EXPECT_EQ(solve(lure, kPit).stop_reason, StopReason::kExhausted);
    EXPECT_EQ(solve(lure, kCell).stop_reason, StopReason::kExhausted);
    EXPECT_EQ(solve(truth, kCell).actions, (std::vector<Action>{0, 0, 0}));
  }
}

TEST(SearchesInDeadEnds, DescentEndsInAPitAndGivesNoHint) {
  const PitsDomain pits(8);
  PitsNet lure(Head::kV, pits, 0);
  PitsNet truth(Head::kV, pits, 100);
  PitsNet q_net(Head::kQ, pits, 100);
  PitsNet policy(Head::kPolicy, pits, 100);
  const Bytes starts = {0, 3, 8 + 3};
  const ConstRows rows(starts.data(), 3, 1);
  const std::int64_t most[] = {50, 50, 50};
  using Taken = std::vector<std::optional<std::int64_t>>;
  EXPECT_EQ(DescendGreedily(pits, lure, 100, rows, most, StopSignal()),
            (Taken{0, std::nullopt, std::nullopt}));
  EXPECT_EQ(DescendGreedily(pits, truth, 100, rows, most, StopSignal()),
            (Taken{0, 3, std::nullopt}));
  EXPECT_EQ(DescendGreedily(pits, policy, 100, rows, most, StopSignal()),
            (Taken{0, 3, std::nullopt}));
  EXPECT_FALSE(HintFor(pits, truth, kPit).action.has_value());
  EXPECT_FALSE(HintFor(pits, q_net, kPit).action.has_value());
  EXPECT_FALSE(HintFor(pits, policy, kPit).action.has_value());
}

}  // namespace
}  // namespace tandem
