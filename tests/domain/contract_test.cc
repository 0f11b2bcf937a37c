// Runs the conformance suite on every registered domain.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "support/published_states.h"
#include "tandem/check_domain.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

class EveryDomain : public testing::TestWithParam<std::string> {};

TEST_P(EveryDomain, PassesTheConformanceSuite) {
  const auto domain = MakeDomain(GetParam());
  EXPECT_EQ(domain->spec().name, GetParam());
  for (const DomainCheck& check : CheckDomain(*domain)) {
    EXPECT_EQ(check.broken, "") << check.promise;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Puzzles, EveryDomain,
    testing::Values("cube2", "cube2:pieces", "cube2:pairs", "cube2_htm", "cube2_htm:pieces",
                    "cube3", "cube3:pieces", "cube3:pairs", "cube3_htm", "cube3_htm:pieces",
                    "grid:5", "grid:10", "grid:16", "hanoi:3", "hanoi:9", "lights_out:2",
                    "lights_out:5", "lights_out:7", "lights_out:9", "sokoban:5", "sokoban:10",
                    "sokoban:16", "permutation:cube4", "permutation:lrx", "permutation:megaminx",
                    "permutation:pyraminx", "permutation:topspin", "npuzzle:3", "npuzzle:4",
                    "npuzzle:5", "npuzzle:6", "npuzzle:7"),
    [](const auto& info) {
      std::string name = info.param;
      std::ranges::replace(name, ':', '_');
      return name;
    });

// A domain and a published test set of its states.
using PublishedSet = std::pair<std::string, std::string>;

class Published : public testing::TestWithParam<PublishedSet> {};

TEST_P(Published, EveryStateSurvivesTheRoundTripThroughText) {
  const auto& [domain_name, set] = GetParam();
  const std::vector<PublishedState> states = AllPublished(set);
  ASSERT_GE(states.size(), 100U);
  const auto domain = MakeDomain(domain_name);
  std::vector<std::uint8_t> state(domain->spec().state_size);
  for (const PublishedState& published : states) {
    domain->ParseState(published.text, state);
    EXPECT_EQ(domain->FormatState(state), published.text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    TestSets, Published,
    testing::Values(PublishedSet{"cube3", "cube3"}, PublishedSet{"lights_out:7", "lightsout7"},
                    PublishedSet{"sokoban:10", "sokoban"}, PublishedSet{"npuzzle:4", "puzzle15"},
                    PublishedSet{"npuzzle:5", "puzzle24"}, PublishedSet{"npuzzle:6", "puzzle35"},
                    PublishedSet{"npuzzle:7", "puzzle48"}),
    [](const auto& info) { return info.param.second; });

}  // namespace
}  // namespace tandem
