#include <ATen/ops/linear.h>
#include <gtest/gtest.h>

#include <string>

#include "nn/device.h"
#include "nn/threads.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(CheckProducts, AcceptsTheProductsOfThisMachine) {
  const auto device = OpenDevice("cpu");
  for (const int threads : {1, 2, 4}) CheckProducts(*device, threads);
}

TEST(CheckProducts, ErrorNamesTheTypeWhoseProductIsWrong) {
  for (const at::ScalarType wrong : {at::kFloat, at::kBFloat16}) {
    const auto half_done = [&](const at::Tensor& x, const at::Tensor& w) {
      at::Tensor product = at::linear(x, w);
      if (x.scalar_type() == wrong) product.narrow(0, 128, 128).zero_();
      return product;
    };
    try {
      CompareWithReference(half_done, c10::kCPU, 2);
      FAIL();
    } catch (const Error& error) {
      const std::string message = error.what();
      const std::string type = wrong == at::kFloat ? "in fp32" : "in bf16";
      EXPECT_NE(message.find("wrong on cpu with 2 CPU threads: a product " + type), message.npos)
          << message;
    }
  }
}

}  // namespace
}  // namespace tandem
