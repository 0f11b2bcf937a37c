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

}  // namespace
}  // namespace tandem
