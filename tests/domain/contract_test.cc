// What include/tandem/domain.h promises of every domain, checked on random states of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "generate/random_walk.h"
#include "support/published_states.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kStates = 300;

class EveryDomain : public testing::TestWithParam<std::string> {
 protected:
  EveryDomain() : bytes_(kStates * spec_.state_size) {
    for (std::size_t i = 0; i < kStates; ++i) {
      RandomWalk walk(*domain_, Random(7, Purpose::kScramble, 0, i), states()[i]);
      for (std::size_t step = 0; step < i; ++step) walk.Step();
    }
  }

  Rows states() { return {bytes_.data(), kStates, static_cast<std::size_t>(spec_.state_size)}; }

  std::vector<std::uint8_t> After(std::span<const std::uint8_t> state, Action action) const {
    std::vector<std::uint8_t> child(state.begin(), state.end());
    domain_->Apply(Rows(std::span(child)), {&action, 1});
    return child;
  }

  const std::unique_ptr<const Domain> domain_ = MakeDomain(GetParam());
  const DomainSpec& spec_ = domain_->spec();
  const std::size_t num_actions_ = static_cast<std::size_t>(spec_.num_actions());
  std::vector<std::uint8_t> bytes_;
};

TEST_P(EveryDomain, IsCalledWhatMadeIt) { EXPECT_EQ(spec_.name, GetParam()); }

TEST_P(EveryDomain, ExpandIsEveryActionApplied) {
  std::vector<std::uint8_t> children(kStates * num_actions_ * spec_.state_size);
  const Rows rows(children.data(), kStates * num_actions_, spec_.state_size);
  domain_->Expand(states(), rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto child = After(states()[i / num_actions_], static_cast<Action>(i % num_actions_));
    EXPECT_TRUE(std::ranges::equal(child, rows[i])) << domain_->FormatState(child);
  }
}

TEST_P(EveryDomain, ABatchIsAppliedRowByRow) {
  std::vector<Action> actions(kStates);
  for (std::size_t i = 0; i < kStates; ++i) actions[i] = static_cast<Action>(i % num_actions_);
  const std::vector<std::uint8_t> before = bytes_;
  domain_->Apply(states(), actions);
  for (std::size_t i = 0; i < kStates; ++i) {
    const ConstRows old(before.data(), kStates, states().row_size());
    EXPECT_TRUE(std::ranges::equal(After(old[i], actions[i]), states()[i]));
  }
}

TEST_P(EveryDomain, AMaskSaysWhatChangesAndTheInverseUndoesIt) {
  std::vector<std::uint8_t> applies(kStates * num_actions_, 2);
  domain_->Mask(states(), applies);
  for (std::size_t i = 0; i < applies.size(); ++i) {
    const std::vector<std::uint8_t> state(states()[i / num_actions_].begin(),
                                          states()[i / num_actions_].end());
    const auto action = static_cast<Action>(i % num_actions_);
    const std::vector<std::uint8_t> child = After(state, action);
    EXPECT_EQ(applies[i], child != state ? 1 : 0) << domain_->FormatState(state);
    EXPECT_TRUE(applies[i] == 1 || spec_.masks_actions);
    if (applies[i] == 0) continue;
    EXPECT_EQ(After(child, spec_.inverse_actions[action]), state);
  }
}

TEST_P(EveryDomain, InputsStayBelowTheirDepth) {
  std::vector<std::uint8_t> inputs(kStates * spec_.input.positions);
  domain_->Encode(states(), Rows(inputs.data(), kStates, spec_.input.positions));
  for (const std::uint8_t value : inputs) EXPECT_LT(value, spec_.input.depth);
}

TEST_P(EveryDomain, DifferentStatesHaveDifferentInputs) {
  std::vector<std::uint8_t> inputs(kStates * spec_.input.positions);
  const Rows rows(inputs.data(), kStates, spec_.input.positions);
  domain_->Encode(states(), rows);
  for (std::size_t i = 0; i < kStates; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_EQ(std::ranges::equal(rows[i], rows[j]), std::ranges::equal(states()[i], states()[j]));
    }
  }
}

TEST_P(EveryDomain, EveryScrambleSurvivesTheRoundTripThroughText) {
  std::vector<std::uint8_t> again(spec_.state_size);
  for (std::size_t i = 0; i < kStates; ++i) {
    const std::string text = domain_->FormatState(states()[i]);
    domain_->ParseState(text, again);
    EXPECT_TRUE(std::ranges::equal(again, states()[i])) << text;
    EXPECT_EQ(domain_->FormatState(again), text);
  }
}

TEST_P(EveryDomain, GoalsAreGoals) {
  std::vector<std::uint8_t> is_goal(kStates, 2);
  domain_->WriteGoals(states());
  domain_->IsGoal(states(), is_goal);
  for (const std::uint8_t goal : is_goal) EXPECT_EQ(goal, 1);
}

TEST_P(EveryDomain, RefusesWhatIsNoState) {
  std::vector<std::uint8_t> state(spec_.state_size);
  for (const char* text : {"", "x", "\xff", "1 2", "\n"}) {
    EXPECT_THROW(domain_->ParseState(text, state), InputError) << text;
  }
  EXPECT_THROW(ParseActions(spec_, "no-such-move"), InputError);
}

TEST_P(EveryDomain, DrawsWholeLines) {
  for (const bool colour : {false, true}) {
    const std::string picture = domain_->Draw(states()[0], colour);
    ASSERT_FALSE(picture.empty());
    EXPECT_EQ(picture.back(), '\n');
  }
}

INSTANTIATE_TEST_SUITE_P(Puzzles, EveryDomain,
                         testing::Values("cube2", "cube2:pieces", "cube3", "cube3:pieces",
                                         "npuzzle:3", "npuzzle:4", "npuzzle:5", "npuzzle:6",
                                         "npuzzle:7"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

// A domain, and a published test set of its states.
using PublishedSet = std::pair<std::string, std::string>;

class Published : public testing::TestWithParam<PublishedSet> {};

TEST_P(Published, EveryStateIsReadAndWrittenBack) {
  const auto& [domain_name, set] = GetParam();
  const std::vector<std::string> texts = PublishedStates(set);
  if (texts.empty()) GTEST_SKIP() << "the published test sets are not here";
  EXPECT_GE(texts.size(), 100U);
  const auto domain = MakeDomain(domain_name);
  std::vector<std::uint8_t> state(domain->spec().state_size);
  for (const std::string& text : texts) {
    domain->ParseState(text, state);
    EXPECT_EQ(domain->FormatState(state), text);
  }
}

INSTANTIATE_TEST_SUITE_P(TestSets, Published,
                         testing::Values(PublishedSet{"cube3", "cube3"},
                                         PublishedSet{"npuzzle:4", "puzzle15"},
                                         PublishedSet{"npuzzle:5", "puzzle24"},
                                         PublishedSet{"npuzzle:6", "puzzle35"},
                                         PublishedSet{"npuzzle:7", "puzzle48"}),
                         [](const auto& info) { return info.param.second; });

}  // namespace
}  // namespace tandem
