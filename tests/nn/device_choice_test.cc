#include "nn/device_choice.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DeviceChoice, WhatIsThereMayBeUsed) {
  const Gpus none{.missing = "no NVIDIA driver answers"};
  EXPECT_EQ(WhyNoDevice("auto", none), "");
  EXPECT_EQ(WhyNoDevice("cpu", none), "");
  EXPECT_EQ(WhyNoDevice("cuda", {.count = 1}), "");
  EXPECT_EQ(WhyNoDevice("cuda:1", {.count = 2}), "");
}

TEST(DeviceChoice, SaysWhyThereIsNoGpu) {
  EXPECT_EQ(WhyNoDevice("cuda", {.missing = "no NVIDIA driver answers"}),
            "`device: cuda` was asked for, but no NVIDIA driver answers; use `device: cpu` or "
            "`device: auto`");
}

TEST(DeviceChoice, SaysWhichGpusThereAre) {
  EXPECT_EQ(WhyNoDevice("cuda:9", {.count = 1}),
            "`device: cuda:9` was asked for, but this machine has cpu, cuda:0");
  EXPECT_EQ(WhyNoDevice("cuda:9", {.count = 4}),
            "`device: cuda:9` was asked for, but this machine has cpu, cuda:0 to cuda:3");
}

TEST(DeviceChoice, SaysWhatADeviceMayBe) {
  EXPECT_EQ(WhyNoDevice("gpu", {.count = 2}),
            "`device: gpu`: expected auto, cpu, cuda or cuda:N; this machine has cpu, cuda:0 to "
            "cuda:1");
  EXPECT_EQ(
      WhyNoDevice("cuda:x", {.missing = "the driver finds no GPU"}),
      "`device: cuda:x`: expected auto, cpu, cuda or cuda:N; this machine has cpu (the driver "
      "finds no GPU)");
}

}  // namespace
}  // namespace tandem
