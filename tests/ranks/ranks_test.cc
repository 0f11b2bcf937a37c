// Tests what ranks report after one of them has failed, with two ranks in one process.
#include "ranks/ranks.h"

#include <ATen/ops/empty.h>
#include <arpa/inet.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <future>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "nn/device.h"
#include "support/recording_device.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::uint16_t FreePort() {
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(listening);
  return ntohs(address.sin_port);
}

// A group of GPUs, which can exchange nothing after it was aborted, as NCCL.
class AbortedGroup final : public c10d::Backend {
 public:
  explicit AbortedGroup(std::promise<void>& aborted) : Backend(0, 2), aborted_(aborted) {}
  void abort() override { aborted_.set_value(); }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& /*tensors*/,
                                           const c10d::AllreduceOptions& /*options*/) override {
    C10_THROW_ERROR(DistBackendError, "NCCL communicator was aborted");
  }

 private:
  std::promise<void>& aborted_;
};

class DeviceWithGroup final : public RecordingDevice {
 public:
  c10d::Backend* MakeBackend(const c10::intrusive_ptr<c10d::Store>& /*store*/, int /*rank*/,
                             int /*size*/) override {
    return c10::make_intrusive<AbortedGroup>(aborted).release();
  }

  std::promise<void> aborted;
};

TEST(RanksTest, AnExchangeAfterTheGroupWasAbortedNamesTheRankThatFailed) {
  const std::uint16_t port = FreePort();
  const auto join = [port](int rank) {
    return std::make_unique<Ranks>(
        RankEnvironment{.rank = rank, .world_size = 2, .host = "127.0.0.1", .port = port});
  };
  DeviceWithGroup device;
  std::future<std::unique_ptr<Ranks>> other = std::async(std::launch::async, join, 1);
  const std::unique_ptr<Ranks> ranks = join(0);
  const std::unique_ptr<Ranks> failed = other.get();
  ranks->UseDevice(device);
  failed->ReportFailure("its disk is full");
  device.aborted.get_future().wait();
  at::Tensor on_gpu = at::empty({1}, at::kMeta);
  EXPECT_THAT(
      [&] { ranks->Sum(on_gpu); },
      ThrowsMessage<Error>(AllOf(HasSubstr("rank 1"), HasSubstr("failed: its disk is full"))));
}

}  // namespace
}  // namespace tandem
