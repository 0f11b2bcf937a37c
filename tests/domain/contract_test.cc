// Runs the conformance suite on every registered domain, and calls it with bytes that are no
// states.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/published_states.h"
#include "support/source_folder.h"
#include "tandem/check_domain.h"
#include "tandem/error.h"
#include "tandem/picture.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

// The registered names with the arguments to test. "" is the name without an argument.
const std::map<std::string, std::vector<std::string>> kArguments = {
    {"cube2", {"", "pieces", "pairs"}},
    {"cube2_htm", {"", "pieces"}},
    {"cube3", {"", "pieces", "pairs"}},
    {"cube3_htm", {"", "pieces"}},
    {"connect_four", {""}},
    {"grid", {"5", "10", "50", "6x9"}},
    {"hanoi", {"3", "9"}},
    {"lights_out", {"2", "5", "7", "9", "3x8"}},
    {"npuzzle", {"3", "4", "5", "6", "7", "3x5", "6x2"}},
    {"othello", {"6", "8"}},
    {"permutation",
     {"cube4", "cube4:pieces", "lrx", "megaminx", "megaminx:pieces", "picture_cube",
      "picture_cube:pieces", "professor_tetraminx", "professor_tetraminx:pieces", "pyraminx",
      "topspin"}},
    {"sokoban", {"5", "10", "50", "7x18"}},
    {"tic_tac_toe", {""}},
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

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kRows = 100;

// Groups of kRows rows: of one byte each, of bytes of states in random places, and of any bytes.
std::vector<Bytes> WrongStates(const DomainSpec& spec) {
  const std::size_t size = kRows * static_cast<std::size_t>(spec.state_size);
  std::vector<Bytes> groups;
  for (const int byte : {0, 1, spec.input.depth - 1, spec.input.depth, 255}) {
    groups.emplace_back(size, static_cast<std::uint8_t>(byte));
  }
  std::mt19937 random(1);
  for (const int most : {spec.input.depth - 1, spec.input.depth, 255}) {
    std::uniform_int_distribution<int> byte(0, most);
    Bytes& group = groups.emplace_back(size);
    for (std::uint8_t& each : group) each = static_cast<std::uint8_t>(byte(random));
  }
  return groups;
}

// Memory for rows between bytes that must stay as they are.
class GuardedRows {
 public:
  GuardedRows(std::size_t count, std::size_t row_size) : count_(count), row_size_(row_size) {}
  GuardedRows(const Bytes& rows, std::size_t row_size)
      : GuardedRows(rows.size() / row_size, row_size) {
    std::ranges::copy(rows, bytes_.begin() + kMargin);
  }

  Rows rows() { return {bytes_.data() + kMargin, count_, row_size_}; }

  bool AreMarginsIntact() const {
    const auto intact = [](std::uint8_t byte) { return byte == kGuard; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kMargin, intact) &&
           std::all_of(bytes_.end() - kMargin, bytes_.end(), intact);
  }

 private:
  static constexpr std::uint8_t kGuard = 0xA5;
  static constexpr std::ptrdiff_t kMargin = 512;

  const std::size_t count_;
  const std::size_t row_size_;
  Bytes bytes_ = Bytes(count_ * row_size_ + 2 * kMargin, kGuard);
};

// Writes one state as text and as pictures, and reads the text back.
void ReadAndShow(const Domain& domain, std::span<const std::uint8_t> state) {
  EXPECT_NE(ToSvg(domain.Draw(state)), "");
  EXPECT_NE(ToTerminal(domain.Draw(state), /*colour=*/true), "");
  Bytes parsed(state.size());
  try {
    domain.ParseState(domain.FormatState(state), parsed);
    EXPECT_TRUE(std::ranges::equal(parsed, state)) << domain.FormatState(state);
  } catch (const InputError& error) {
    EXPECT_STRNE(error.what(), "");
  }
}

// Searches backwards from one state, and moves the goals of others to it.
void CallMethodsOfOneState(const Domain& domain, std::span<const std::uint8_t> state, Rows others) {
  Bytes appended;
  domain.Predecessors(ConstRows(state), appended);
  domain.AllGoals(state, appended);
  EXPECT_EQ(appended.size() % state.size(), 0U);
  if (domain.spec().inverse_actions.empty()) {
    GuardedRows stepped(Bytes(state.begin(), state.end()), state.size());
    for (std::uint64_t random = 0; random < 8; ++random) {
      std::optional<Action> action;
      domain.StepBack(stepped.rows(), {&random, 1}, {&action, 1});
    }
    EXPECT_TRUE(stepped.AreMarginsIntact());
  }
  if (domain.spec().moves_goals) domain.MoveGoals(others, state);
  ReadAndShow(domain, state);
}

// `bytes` ends where its memory does, so that the address sanitizer sees reads beyond it.
void CallEveryMethod(const Domain& domain, const Bytes& bytes) {
  const DomainSpec& spec = domain.spec();
  const auto size = static_cast<std::size_t>(spec.state_size);
  const auto num_actions = static_cast<std::size_t>(spec.num_actions());
  const ConstRows states(bytes.data(), kRows, size);
  GuardedRows children(kRows * num_actions, size);
  GuardedRows inputs(kRows, static_cast<std::size_t>(spec.input.positions));
  GuardedRows flags(kRows, num_actions + 1);
  domain.Expand(states, children.rows());
  domain.Encode(states, inputs.rows());
  domain.Mask(states, flags.rows().bytes().first(kRows * num_actions));
  domain.IsGoal(states, flags.rows().bytes().last(kRows));
  GuardedRows moved(bytes, size);
  for (std::size_t a = 0; a < num_actions; ++a) {
    domain.Apply(moved.rows(), std::vector<Action>(kRows, static_cast<Action>(a)));
  }
  for (std::size_t i = 0; i < kRows; ++i) CallMethodsOfOneState(domain, states[i], moved.rows());
  for (const GuardedRows* each : {&children, &inputs, &flags, &moved}) {
    EXPECT_TRUE(each->AreMarginsIntact()) << "rows of " << FormatNumbers(states[0]) << "...";
  }
}

class EveryDomain : public testing::TestWithParam<std::string> {};

TEST_P(EveryDomain, PassesTheConformanceSuite) {
  const auto domain = MakeDomain(GetParam());
  EXPECT_EQ(domain->spec().name, GetParam());
  for (const DomainCheck& check : CheckDomain(*domain)) {
    EXPECT_EQ(check.broken, "") << check.promise;
  }
}

// Programs may pass bytes that are no state: Python reads them from any array.
TEST_P(EveryDomain, StaysInsideItsRowsWhateverTheBytesAre) {
  const auto domain = MakeDomain(GetParam());
  for (const Bytes& states : WrongStates(domain->spec())) CallEveryMethod(*domain, states);
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
  for (const auto& entry : std::filesystem::directory_iterator(SourceFolder() / "puzzles")) {
    const std::string name = entry.path().stem().string();
    EXPECT_EQ(std::ranges::count(kArguments.at("permutation"), name), 1) << name;
  }
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
