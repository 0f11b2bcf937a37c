#include <ATen/ops/allclose.h>
#include <ATen/ops/full_like.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "support/small_spec.h"

namespace tandem {
namespace {

TEST(WeightAverage, FollowsTheWeightsWithTheGivenDecay) {
  for (const Norm norm : {Norm::kNone, Norm::kBatch}) {
    ResNetFC net(SmallSpec(norm), 1);
    const c10::NoGradGuard no_grad;
    const auto fill = [&](double value) {
      for (const auto& [name, tensor] : net.State()) tensor.fill_(value);
    };
    const auto expect = [](const WeightAverage& average, double value) {
      for (const auto& [name, tensor] : average.net().State()) {
        EXPECT_TRUE(at::allclose(tensor, at::full_like(tensor, value))) << name;
      }
    };
    fill(1);
    WeightAverage average(net, 0.75);
    expect(average, 1);
    fill(5);
    average.Add(net, 0);  // 1/10 of the old average at most
    expect(average, 0.1 * 1 + 0.9 * 5);
    average.Add(net, 1000);
    expect(average, 0.75 * 4.6 + 0.25 * 5);
  }
}

}  // namespace
}  // namespace tandem
