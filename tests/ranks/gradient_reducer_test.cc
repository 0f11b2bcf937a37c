// Tests the exchange of gradients with one rank, whose sums are its own numbers.
#include "ranks/gradient_reducer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/stop_signal.h"
#include "nn/device.h"
#include "nn/resnet_fc.h"

namespace tandem {
namespace {

class OneRank : public testing::Test {
 protected:
  OneRank() {
    for (const at::Tensor& parameter : parameters_) {
      parameter.mutable_grad() = at::full_like(parameter, 2);
    }
  }

  at::Tensor Reduce() { return reducer_.Reduce(at::full({}, 0.5), /*weights=*/{}, parameters_); }

  std::unique_ptr<Device> cpu_ = OpenDevice("cpu");
  Ranks ranks_{RankEnvironment{.host = "127.0.0.1", .port = 0}};  // 0: any free port
  StopSignal requests_;
  StopSignal local_{&requests_};
  AgreedStop stop_{local_};
  GradientReducer reducer_{ranks_, stop_, *cpu_};
  std::vector<at::Tensor> parameters_ = {at::ones({3, 2}), at::ones({5})};
};

TEST_F(OneRank, AStopIsDecidedOneStepAfterItsVote) {
  Reduce();
  requests_.Request();
  Reduce();
  EXPECT_FALSE(stop_.signal().Reached());
  Reduce();
  EXPECT_TRUE(stop_.signal().Reached());
  EXPECT_TRUE(stop_.requested());
}

TEST_F(OneRank, AStopIsDecidedAtTheEndOfAnUpdate) {
  reducer_.DecideStop();  // before any vote
  requests_.Request();
  Reduce();
  EXPECT_FALSE(stop_.signal().Reached());
  reducer_.DecideStop();
  EXPECT_TRUE(stop_.signal().Reached());
}

TEST_F(OneRank, AVoteOfAnEarlierStepIsNotCountedAgain) {
  for (int i = 0; i < 3; ++i) Reduce();
  reducer_.DecideStop();
  EXPECT_FALSE(stop_.signal().Reached());
}

TEST_F(OneRank, GradientsAndLossKeepTheirValues) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Reduce().item<float>(), 0.5F);
    for (const at::Tensor& parameter : parameters_) {
      EXPECT_TRUE(parameter.grad().equal(at::full_like(parameter, 2)));
    }
  }
}

TEST_F(OneRank, GradientsInABlockAreReducedWhereTheyAre) {
  const at::Tensor block = at::zeros({11 + FlatParameters::kRoomBehindGradients});
  parameters_[0].mutable_grad() = block.narrow(0, 0, 6).view({3, 2});
  parameters_[1].mutable_grad() = block.narrow(0, 6, 5);
  reducer_.ReduceInPlace(block);
  block.narrow(0, 0, 11).fill_(3);
  EXPECT_EQ(Reduce().item<float>(), 0.5F);
  EXPECT_EQ(parameters_[0].grad().const_data_ptr(), block.const_data_ptr());
  EXPECT_TRUE(parameters_[1].grad().equal(at::full_like(parameters_[1], 3)));
}

}  // namespace
}  // namespace tandem
