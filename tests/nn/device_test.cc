#include "nn/device.h"

#include <gtest/gtest.h>

#include <string>

#include "tandem/error.h"

namespace tandem {
namespace {

TEST(Device, RejectsUnknownDevices) {
  EXPECT_THROW(OpenDevice("gpu"), InputError);
  EXPECT_THROW(OpenDevice("cuda:x"), InputError);
  EXPECT_THROW(OpenDevice("cuda:-1"), InputError);
  EXPECT_THROW(OpenDevice("cuda:99"), InputError);  // with or without a driver
  EXPECT_EQ(OpenDevice("cpu")->description(), "cpu");
}

TEST(DeviceChoice, AcceptsEveryDeviceThatThisMachineHas) {
  const Gpus none{.missing = "there is no NVIDIA driver"};
  EXPECT_EQ(WhyNoDevice("auto", none), "");
  EXPECT_EQ(WhyNoDevice("cpu", none), "");
  EXPECT_EQ(WhyNoDevice("cuda", {.count = 1}), "");
  EXPECT_EQ(WhyNoDevice("cuda:1", {.count = 2}), "");
}

TEST(DeviceChoice, ErrorSaysWhyThereIsNoGpu) {
  EXPECT_EQ(WhyNoDevice("cuda", {.missing = "there is no NVIDIA driver"}),
            "`device: cuda`: there is no NVIDIA driver; use `device: cpu` or `device: auto`");
}

TEST(DeviceChoice, ErrorForAMissingGpuListsTheGpus) {
  EXPECT_EQ(WhyNoDevice("cuda:9", {.count = 1}),
            "`device: cuda:9`: this machine has only cpu, cuda:0");
  EXPECT_EQ(WhyNoDevice("cuda:9", {.count = 4}),
            "`device: cuda:9`: this machine has only cpu, cuda:0 to cuda:3");
}

TEST(DeviceChoice, ErrorForAnUnknownDeviceNameListsTheValidNames) {
  EXPECT_EQ(WhyNoDevice("gpu", {.count = 2}),
            "`device: gpu`: expected auto, cpu, cuda or cuda:N; this machine has cpu, cuda:0 to "
            "cuda:1");
  EXPECT_EQ(
      WhyNoDevice("cuda:x", {.missing = "the driver finds no GPU"}),
      "`device: cuda:x`: expected auto, cpu, cuda or cuda:N; this machine has cpu (the driver "
      "finds no GPU)");
}

TEST(DeviceChoice, CodeRunsOnGpusOfTheSameMajorNumberAndPtxOnAllLaterOnes) {
  const std::string built_for = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120";
  EXPECT_FALSE(HasCodeFor(7, 0, built_for));  // V100
  EXPECT_FALSE(HasCodeFor(6, 1, built_for));  // GTX 10
  EXPECT_TRUE(HasCodeFor(7, 5, built_for));
  EXPECT_TRUE(HasCodeFor(8, 9, built_for));
  EXPECT_TRUE(HasCodeFor(12, 1, built_for));
  EXPECT_FALSE(HasCodeFor(11, 0, built_for));
  EXPECT_TRUE(HasCodeFor(11, 0, "sm_80 sm_90 compute_90"));
  EXPECT_FALSE(HasCodeFor(8, 9, "sm_90 compute_90"));
  EXPECT_FALSE(HasCodeFor(10, 3, "sm_103a"));  // may need features of that very GPU
  EXPECT_TRUE(HasCodeFor(7, 0, ""));
}

TEST(DeviceChoice, RanksThatSeeOnlyTheirOwnGpuTakeIt) {
  EXPECT_EQ(GpuOfRank(/*local_rank=*/0, /*count=*/1), 0);
  EXPECT_EQ(GpuOfRank(3, 1), 0);
  EXPECT_EQ(GpuOfRank(3, 4), 3);
  EXPECT_EQ(GpuOfRank(5, 4), 1);
}

}  // namespace
}  // namespace tandem
