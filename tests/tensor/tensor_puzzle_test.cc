// Compares tensor operations on puzzles with the puzzles' own code.
#include "tensor/tensor_puzzle.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "domain/random_walks.h"
#include "support/device_with_kernel.h"
#include "support/small_puzzles.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kStates = 20;

// Returns the rows of a tensor of bytes.
State BytesOf(const at::Tensor& tensor) {
  const at::Tensor rows = tensor.contiguous();
  const std::uint8_t* const data = rows.const_data_ptr<std::uint8_t>();
  return {data, data + rows.numel()};
}

at::Tensor Actions(const std::vector<int>& actions) {
  const at::Tensor tensor = at::empty({std::ssize(actions)}, at::TensorOptions().dtype(at::kInt));
  std::ranges::copy(actions, tensor.mutable_data_ptr<int>());
  return tensor;
}

using Parameter = std::tuple<const char*, bool>;  // a puzzle, and whether the device has a kernel

class TensorPuzzleTest : public testing::TestWithParam<Parameter> {
 protected:
  TensorPuzzleTest() {
    size_ = static_cast<std::size_t>(domain_->spec().state_size);
    states_.resize(kStates * size_);
    for (std::size_t i = 0; i < kStates; ++i) {
      WalkFromGoal(*domain_, Random(1, Purpose::kScramble, 0, i), static_cast<std::int64_t>(i),
                   Rows(states_.data(), kStates, size_)[i]);
    }
    for (std::size_t i = 0; i < kStates; ++i) {
      tensor_.slice(0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1)
          .copy_(puzzle_.State(ConstRows(states_.data(), kStates, size_)[i]).value());
    }
  }

  const std::unique_ptr<const Domain> domain_ = MakeDomain(std::get<0>(GetParam()));
  const std::unique_ptr<Device> device_ = OpenCpu(std::get<1>(GetParam()));
  const TensorPuzzle puzzle_{*domain_, *device_, "search.program"};
  std::size_t size_ = 0;
  State states_;  // walks of 0, 1, 2, ... steps
  at::Tensor tensor_ = puzzle_.Goals(static_cast<std::int64_t>(kStates));
};

TEST_P(TensorPuzzleTest, AppliesTheActionsOfTheDomain) {
  std::vector<int> actions;
  std::vector<Action> of_domain;
  for (std::size_t i = 0; i < kStates; ++i) {
    actions.push_back(static_cast<int>(i) % domain_->spec().num_actions());
    of_domain.push_back(static_cast<Action>(actions.back()));
  }
  const at::Tensor after = puzzle_.Apply(tensor_, Actions(actions));
  domain_->Apply(Rows(states_.data(), kStates, size_), of_domain);
  EXPECT_EQ(BytesOf(puzzle_.Bytes(after)), states_);
}

TEST_P(TensorPuzzleTest, WalksToTheStatesOfTheDomain) {
  constexpr std::int64_t kSteps = 9;
  constexpr std::int64_t kWalks = 7;
  Random random(1, Purpose::kShuffle);
  std::vector<int> actions(kSteps * kWalks);
  for (int& action : actions) {
    action = static_cast<int>(random.Below(static_cast<std::uint64_t>(puzzle_.num_actions())));
  }
  // Every place, in another order than that of the walks.
  at::Tensor places = at::arange((kSteps + 1) * kWalks, at::kLong).flip(0);
  State expected;
  for (std::int64_t place = (kSteps + 1) * kWalks - 1; place >= 0; --place) {
    State state(size_);
    domain_->WriteGoals(Rows(state.data(), 1, size_));
    for (std::int64_t i = place % kWalks; i < place - place % kWalks; i += kWalks) {
      const auto action = static_cast<Action>(actions[static_cast<std::size_t>(i)]);
      domain_->Apply(Rows(state.data(), 1, size_), {&action, 1});
    }
    expected.insert(expected.end(), state.begin(), state.end());
  }
  const at::Tensor states = puzzle_.Walk(Actions(actions).view({kSteps, kWalks}), places);
  EXPECT_EQ(BytesOf(puzzle_.Bytes(states)), expected);
}

TEST_P(TensorPuzzleTest, MakesTheChildrenOfTheDomain) {
  State children(states_.size() * static_cast<std::size_t>(domain_->spec().num_actions()));
  domain_->Expand(ConstRows(states_.data(), kStates, size_),
                  Rows(children.data(), children.size() / size_, size_));
  EXPECT_EQ(BytesOf(puzzle_.Bytes(puzzle_.Expand(tensor_))), children);
}

TEST_P(TensorPuzzleTest, EncodesAsTheDomainDoes) {
  const auto width = static_cast<std::size_t>(domain_->spec().input.positions);
  State inputs(kStates * width);
  domain_->Encode(ConstRows(states_.data(), kStates, size_), Rows(inputs.data(), kStates, width));
  EXPECT_EQ(BytesOf(puzzle_.Encode(tensor_)), inputs);
}

TEST_P(TensorPuzzleTest, KnowsWhichStatesAreGoals) {
  State is_goal(kStates);
  domain_->IsGoal(ConstRows(states_.data(), kStates, size_), is_goal);
  EXPECT_EQ(BytesOf(puzzle_.IsGoal(tensor_).to(at::kByte)), is_goal);
  EXPECT_EQ(is_goal.front(), 1);
}

INSTANTIATE_TEST_SUITE_P(Puzzles, TensorPuzzleTest,
                         testing::Combine(testing::Values("cube3", "cube3:pieces", "cube3:pairs",
                                                          "cube2", "cube2:pieces"),
                                          testing::Bool()),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param);
                           std::erase(name, ':');
                           return name + (std::get<1>(test.param) ? "WithKernel" : "");
                         });

TEST(TensorPuzzle, RefusesAPuzzleWithoutFixedPermutations) {
  const auto tiles = MakeDomain("npuzzle:3");
  try {
    const std::unique_ptr<Device> device = OpenDevice("cpu");
    const TensorPuzzle puzzle(*tiles, *device, "generate.program");
    FAIL();
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("`generate.program: tensor`"), std::string::npos) << message;
    EXPECT_NE(message.find("npuzzle:3"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tandem
