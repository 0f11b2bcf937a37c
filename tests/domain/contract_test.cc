// Runs the conformance suite on every registered domain.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/published_states.h"
#include "support/source_folder.h"
#include "tandem/check_domain.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The registered names with the arguments to test. "" is the name without an argument.
const std::map<std::string, std::vector<std::string>> kArguments = {
    {"cube2", {"", "pieces", "pairs"}},
    {"cube2_htm", {"", "pieces"}},
    {"cube3", {"", "pieces", "pairs"}},
    {"cube3_htm", {"", "pieces"}},
    {"grid", {"5", "10", "16"}},
    {"hanoi", {"3", "9"}},
    {"lights_out", {"2", "5", "7", "9"}},
    {"npuzzle", {"3", "4", "5", "6", "7"}},
    {"permutation", {"cube4", "lrx", "megaminx", "pyraminx", "topspin"}},
    {"sokoban", {"5", "10", "16"}},
};

// Domains that registry_test.cc registers.
const std::set<std::string> kTestDomains = {"makes_none", "other",     "path",      "registry_test",
                                            "throws_42",  "throws_43", "throws_out"};

std::vector<std::string> DomainsToTest() {
  std::vector<std::string> domains;
  for (const auto& [name, arguments] : kArguments) {
    for (const std::string& argument : arguments) {
      domains.push_back(argument.empty() ? name : name + ":" + argument);
    }
  }
  return domains;
}

class EveryDomain : public testing::TestWithParam<std::string> {};

TEST_P(EveryDomain, PassesTheConformanceSuite) {
  const auto domain = MakeDomain(GetParam());
  EXPECT_EQ(domain->spec().name, GetParam());
  for (const DomainCheck& check : CheckDomain(*domain)) {
    EXPECT_EQ(check.broken, "") << check.promise;
  }
}

INSTANTIATE_TEST_SUITE_P(Puzzles, EveryDomain, testing::ValuesIn(DomainsToTest()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

TEST(DomainsToTest, HaveEveryRegisteredName) {
  for (const std::string& name : DomainNames()) {
    EXPECT_TRUE(kArguments.contains(name) || kTestDomains.contains(name)) << name;
  }
}

TEST(DomainsToTest, HaveEveryPuzzleFile) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SourceFolder() / "puzzles")) {
    if (entry.path().extension() == ".yaml") files.insert(entry.path().stem().string());
  }
  const std::vector<std::string>& listed = kArguments.at("permutation");
  EXPECT_EQ(files, std::set(listed.begin(), listed.end()));
}

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
