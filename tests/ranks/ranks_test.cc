// Tests what ranks do and report after one of them has failed, with two ranks in one process.
#include "ranks/ranks.h"

#include <ATen/ops/empty.h>
#include <arpa/inet.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "nn/device.h"
#include "support/recording_device.h"
#include "support/wait.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;

// A free port below those of outgoing connections, so that the system gives it to no other program.
std::uint16_t FreePort() {
  static std::uint16_t next = 20'000 + ::getpid() % 10'000;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  do {
    address.sin_port = htons(++next);
  } while (::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 &&
           next < 32'767);
  ::close(listening);
  return next;
}

// Two ranks of this process: objects of the class Ranks or Membership.
template <class Group>
std::array<std::unique_ptr<Group>, 2> JoinTwo() {
  const std::uint16_t port = FreePort();
  const auto join = [port](int rank) {
    return std::make_unique<Group>(
        RankEnvironment{.rank = rank, .world_size = 2, .host = "127.0.0.1", .port = port});
  };
  std::future<std::unique_ptr<Group>> other = std::async(std::launch::async, join, 1);
  std::unique_ptr<Group> first = join(0);
  return {std::move(first), other.get()};
}

// Fails the test if rank 0 has stopped telling the others that it is alive.
void ExpectThatRank0Beats(const Membership& membership) {
  const auto beats = [&] { return membership.store()->add("alive/0", 0); };
  WaitUntil([&, before = beats()] { return beats() > before; });
}

TEST(Membership, NamesTheRanksThatDoNotJoinInTimeAndAStoreThatIsLost) {
  const std::uint16_t port = FreePort();
  const auto join = [port](int rank, std::chrono::milliseconds timeout) {
    const Membership membership(
        RankEnvironment{.rank = rank, .world_size = 3, .host = "127.0.0.1", .port = port}, timeout);
  };
  // Rank 0, which holds the store, gives up first.
  const std::future<void> other = std::async(std::launch::async, [&] {
    EXPECT_THAT([&] { join(1, std::chrono::minutes(1)); },
                ThrowsMessage<Error>(HasSubstr("rank 1: cannot reach the store at 127.0.0.1")));
  });
  EXPECT_THAT([&] { join(0, std::chrono::seconds(1)); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("expected 3 ranks"), HasSubstr("in time: "), HasSubstr("2"))));
}

TEST(Membership, PortOfAnotherProgramIsNamedInOneLine) {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);
  EXPECT_THAT(
      [&] { Membership(RankEnvironment{.world_size = 2, .host = "127.0.0.1", .port = port}); },
      ThrowsMessage<Error>(AllOf(HasSubstr(fmt::format("127.0.0.1:{} (MASTER_ADDR", port)),
                                 HasSubstr("set MASTER_PORT to a free one"),
                                 HasSubstr("EADDRINUSE"), Not(HasSubstr("\n")))));
  ::close(taken);
}

TEST(Membership, RankOfAnotherJobIsRefusedAndDoesNotDisturbThisOne) {
  const auto ranks = JoinTwo<Membership>();
  RankEnvironment other = ranks[1]->environment();
  EXPECT_THAT([&] { Membership{other}; },
              ThrowsMessage<Error>(AllOf(HasSubstr("another process is rank 1"),
                                         HasSubstr(fmt::format("127.0.0.1:{}", other.port)),
                                         HasSubstr("set MASTER_PORT to a free one"))));
  other.rank = 2;
  other.world_size = 3;  // a rank that this job does not have
  EXPECT_THAT([&] { Membership(other, std::chrono::seconds(1)); },
              ThrowsMessage<Error>(HasSubstr("did not join in time: 0, 1")));
  ExpectThatRank0Beats(*ranks[0]);
  EXPECT_FALSE(ranks[0]->has_lost());
}

TEST(Membership, RankThatEndsInSilenceIsNamedByAllOthers) {
  const std::uint16_t port = FreePort();
  std::array<std::future<std::unique_ptr<Membership>>, 4> joining;
  for (int rank = 0; rank < 4; ++rank) {
    joining[rank] = std::async(std::launch::async, [=] {
      return std::make_unique<Membership>(
          RankEnvironment{.rank = rank, .world_size = 4, .host = "127.0.0.1", .port = port},
          std::chrono::minutes(5), /*lost_after=*/std::chrono::seconds(8));
    });
  }
  std::array<std::unique_ptr<Membership>, 4> ranks;
  std::ranges::transform(joining, ranks.begin(), [](auto& each) { return each.get(); });
  ranks[2].reset();
  std::array<std::future<std::string>, 4> found;
  for (const int rank : {0, 1, 3}) {
    found[rank] = std::async(std::launch::async, [&, rank] {
      EXPECT_FALSE(ranks[rank]->WaitFor([] { return false; }));
      return ranks[rank]->DescribeLost();
    });
  }
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(found[rank].get(), AllOf(StartsWith("rank 2 (process"),
                                         EndsWith("ended without a message"), Not(HasSubstr(";"))));
  }
}

TEST(Membership, LaterStartOfTheRanksRemembersWhatAnEarlierOneNoted) {
  const std::uint16_t port = FreePort();
  RankEnvironment environment{.host = "127.0.0.1", .port = port};
  const Membership launcher(environment);  // holds the store
  environment.launcher_holds_store = true;
  environment.run_id = "job";
  {
    Membership first(environment);
    EXPECT_FALSE(first.Remembers("runs/a"));
    first.Remember("runs/a");
  }
  environment.restart = 1;
  const Membership second(environment);
  EXPECT_TRUE(second.Remembers("runs/a"));
  EXPECT_FALSE(second.Remembers("runs/b"));
}

TEST(Membership, ActionThatThrowsIsReportedAndTheRankGoesOn) {
  testing::internal::CaptureStderr();
  {
    const auto ranks = JoinTwo<Membership>();
    ranks[0]->OnLost([] { throw Error("the group is broken"); });
    ranks[1]->ReportFailure("its disk is full");
    EXPECT_FALSE(ranks[0]->WaitFor([] { return false; }));
    ExpectThatRank0Beats(*ranks[0]);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the group is broken"));
}

TEST(Membership, ActionThatBlocksHoldsNeitherTheBeatsNorAWaitUp) {
  std::promise<void> release;
  std::atomic<bool> timed_out = false;
  const auto ranks = JoinTwo<Membership>();
  ranks[0]->OnLost([&timed_out, released = release.get_future().share()] {
    timed_out = released.wait_for(std::chrono::seconds(30)) == std::future_status::timeout;
  });
  ranks[1]->ReportFailure("its disk is full");
  EXPECT_FALSE(ranks[0]->WaitFor([] { return false; }));
  EXPECT_TRUE(ranks[0]->has_lost());
  ExpectThatRank0Beats(*ranks[0]);
  EXPECT_FALSE(timed_out);
  release.set_value();
}

// A group of GPUs, which can exchange nothing after it was aborted, as NCCL.
class AbortedGroup final : public c10d::Backend {
 public:
  AbortedGroup(std::promise<std::chrono::milliseconds>& aborted, std::atomic<int>& aborts)
      : Backend(0, 2), aborted_(aborted), aborts_(aborts) {}
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void abort() override {
    if (++aborts_ == 1) aborted_.set_value(timeout_);
  }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& /*tensors*/,
                                           const c10d::AllreduceOptions& /*options*/) override {
    C10_THROW_ERROR(DistBackendError, "NCCL communicator was aborted");
  }

 private:
  std::promise<std::chrono::milliseconds>& aborted_;
  std::atomic<int>& aborts_;
  std::chrono::milliseconds timeout_ = {};
};

class DeviceWithGroup final : public RecordingDevice {
 public:
  c10::intrusive_ptr<c10d::Backend> MakeBackend(const c10::intrusive_ptr<c10d::Store>& /*store*/,
                                                int /*rank*/, int /*size*/) override {
    return c10::make_intrusive<AbortedGroup>(aborted, aborts);
  }

  std::promise<std::chrono::milliseconds> aborted;  // with the timeout that the group had then
  std::atomic<int> aborts = 0;
};

class DeviceOnGpu final : public RecordingDevice {
 public:
  c10::Device torch() const override { return {c10::kCUDA, 0}; }
};

TEST(RanksTest, ThoseWithAndThoseWithoutAGpuAreRefusedInAllRanks) {
  RecordingDevice cpu;
  DeviceOnGpu gpu;
  const auto ranks = JoinTwo<Ranks>();
  auto other = std::async(std::launch::async, [&] { ranks[1]->UseDevice(gpu); });
  const auto refused = ThrowsMessage<InputError>(
      AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"), HasSubstr("Set `device` to cpu")));
  EXPECT_THAT([&] { ranks[0]->UseDevice(cpu); }, refused);
  EXPECT_THAT([&] { other.get(); }, refused);
}

// Joins two ranks, one with each device.
std::array<std::unique_ptr<Ranks>, 2> JoinTwoWith(Device& first, Device& second) {
  auto ranks = JoinTwo<Ranks>();
  auto other = std::async(std::launch::async, [&] { ranks[1]->UseDevice(second); });
  ranks[0]->UseDevice(first);
  other.get();
  return ranks;
}

TEST(RanksTest, TheGroupOfADeviceIsEndedOnceIfNoRankFails) {
  DeviceWithGroup device, of_other;
  {
    const auto ranks = JoinTwoWith(device, of_other);
    EXPECT_EQ(device.aborts + of_other.aborts, 0);
  }
  EXPECT_EQ(device.aborts, 1);
  EXPECT_EQ(of_other.aborts, 1);
}

TEST(RanksTest, TheGroupOfADeviceIsEndedOnceIfARankFails) {
  DeviceWithGroup device, of_other;
  {
    const auto ranks = JoinTwoWith(device, of_other);
    ranks[1]->ReportFailure("its disk is full");
    device.aborted.get_future().wait();
  }
  EXPECT_EQ(device.aborts, 1);
}

TEST(RanksTest, AnExchangeAfterTheGroupWasAbortedNamesTheRankThatFailed) {
  DeviceWithGroup device, of_other;
  const auto ranks = JoinTwoWith(device, of_other);
  ranks[1]->ReportFailure("its disk is full");
  EXPECT_LT(device.aborted.get_future().get(), std::chrono::minutes(5));
  EXPECT_THAT([&] { ranks[0]->CheckAlive(); },
              ThrowsMessage<Error>(HasSubstr("failed: its disk is full")));
  at::Tensor on_gpu = at::empty({1}, at::kMeta);
  EXPECT_THAT(
      [&] { ranks[0]->Sum(on_gpu); },
      ThrowsMessage<Error>(AllOf(HasSubstr("rank 1"), HasSubstr("failed: its disk is full"))));
}

}  // namespace
}  // namespace tandem
