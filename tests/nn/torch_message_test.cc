#include "nn/torch_message.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(TorchMessage, GpuOutOfMemoryNamesTheAmountsAndTheKeysToChange) {
  EXPECT_EQ(
      MessageFor("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
                 "of 79.10 GiB of which 1.50 GiB is free. Process 7 has 77.60 GiB in use."),
      "the GPU is out of memory: another 2.00 GiB was requested, 1.50 GiB of 79.10 GiB is free; "
      "raise train.accumulation_steps, or lower train.batch_size, inference.batch_size, "
      "network.width, prefetch.depth, search.beam_width or search.batch");
}

TEST(TorchMessage, RecognisesOutOfMemoryFromDriverAndCublas) {
  for (const char* what : {"CUDA error: out of memory\nCUDA kernel errors might be reported later",
                           "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`",
                           "CUDA out of memory. Tried to allocate more than"}) {
    EXPECT_TRUE(MessageFor(what).starts_with("the GPU is out of memory")) << what;
    EXPECT_NE(MessageFor(what).find("raise train.accumulation_steps"), std::string::npos) << what;
  }
}

TEST(TorchMessage, CpuOutOfMemoryNamesTheAmount) {
  try {
    at::empty({std::int64_t{1} << 60}, at::kByte);
    FAIL() << "allocating an exbibyte succeeded";
  } catch (const c10::Error& error) {
    EXPECT_TRUE(MessageFor(error).starts_with(
        "out of memory: another 1048576.0 TiB was requested; lower train.batch_size"))
        << MessageFor(error);
  }
}

TEST(TorchMessage, TextOfAnErrorLosesItsStackTrace) {
  try {
    C10_THROW_ERROR(DistNetworkError, "the port is taken");
  } catch (const std::exception& error) {
    EXPECT_EQ(MessageFor(std::string_view(error.what())), "the port is taken");
  }
}

TEST(TorchMessage, LeavesOtherErrorsUnchanged) {
  EXPECT_EQ(MessageFor("mat1 and mat2 shapes cannot be multiplied"),
            "mat1 and mat2 shapes cannot be multiplied");
}

}  // namespace
}  // namespace tandem
