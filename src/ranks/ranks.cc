#include "ranks/ranks.h"

#define USE_C10D_GLOO  // LibTorch's wheel is built with Gloo, but does not say so in its headers

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "base/hash.h"
#include "base/machine.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "base/timeline.h"
#include "nn/device.h"
#include "nn/torch_message.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;

// To connect to the other ranks, which have all joined.
constexpr milliseconds kConnectTimeout = std::chrono::seconds(60);

// Membership notices a lost rank, so an exchange may wait as long as another rank works: for
// example while rank 0 validates.
constexpr milliseconds kExchangeTimeout = std::chrono::hours(24 * 365);

// To abort the exchanges of a device.
constexpr milliseconds kAbortTimeout = std::chrono::seconds(60);

// Uses the network interfaces that GLOO_SOCKET_IFNAME lists, or that of the machine's name.
// LibTorch has a function that does this, but only since 2.10.
c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> GlooOptions() {
  auto options = c10d::ProcessGroupGloo::Options::create(kConnectTimeout);
  const char* const names = std::getenv("GLOO_SOCKET_IFNAME");
  if (names == nullptr || *names == '\0') {
    options->devices = {c10d::ProcessGroupGloo::createDefaultDevice()};
  } else {
    for (const std::string& name : SplitList(names, "GLOO_SOCKET_IFNAME")) {
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(name));
    }
  }
  options->threads = 2 * static_cast<int>(options->devices.size());
  return options;
}

c10::intrusive_ptr<c10d::Backend> MakeGloo(const Membership& membership) {
  const RankEnvironment& environment = membership.environment();
  const auto store = c10::make_intrusive<c10d::PrefixStore>("gloo", membership.store());
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, environment.rank,
                                                     environment.world_size, GlooOptions());
}

}  // namespace

Ranks::Ranks(const RankEnvironment& environment) : Membership(environment) {
  try {
    host_ = MakeGloo(*this);
  } catch (const std::exception& error) {
    FailBecause(MessageFor(std::string_view(error.what())));
  }
  device_ = host_;
}

Ranks::~Ranks() {
  // The process ends soon. Until then, Gloo's destructor would wait for a rank that does not
  // answer, and NCCL's for a thread that may end the process before its message was read.
  if (device_ != host_ && (has_lost() || !TryToEndDevice())) device_.release();
  if (stuck_) host_.release();
}

// NCCL's destructor ends its exchanges too, and warns that nobody did it before.
bool Ranks::TryToEndDevice() noexcept {
  try {
    end_device_();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Ranks::UseDevice(Device& device) {
  CheckSameKind(device);
  const auto own = c10::make_intrusive<c10d::PrefixStore>("device", store());
  if (auto backend = device.MakeBackend(own, rank(), size())) {
    device_ = std::move(backend);
    device_->setTimeout(kExchangeTimeout);  // NCCL ignores that of a call
    end_device_ = [backend = device_, once = std::make_shared<std::once_flag>()] {
      std::call_once(*once, [&] {
        backend->setTimeout(kAbortTimeout);
        backend->abort();
      });
    };
    // Otherwise the main thread would wait for the device for ever.
    OnLost(end_device_);
    // NCCL's ranks meet in their first exchange, and wait at most five minutes for each other.
    at::Tensor nothing = at::zeros({1}, device.torch());
    Sum(nothing);
  }
}

// Throws if some ranks have a GPU and others have none. They would wait for each other for ever.
void Ranks::CheckSameKind(const Device& device) {
  const std::vector<std::vector<double>> on_gpu = Gather({device.torch().is_cpu() ? 0.0 : 1.0});
  for (int i = 1; i < size(); ++i) {
    if (on_gpu[static_cast<std::size_t>(i)] == on_gpu[0]) continue;
    const bool is_first = on_gpu[0][0] != 0;
    throw InputError(fmt::format(
        "{} would train on a GPU, and {} on a CPU. Set `device` to cpu, or leave out the ranks "
        "without a GPU.",
        NameOf(is_first ? 0 : i), NameOf(is_first ? i : 0)));
  }
}

void Ranks::CheckAlive() {
  if (has_lost()) FailBecause("no exchange is possible");
}

template <class Begin>
void Ranks::Exchange(const Begin& begin) {
  CheckAlive();
  const Span span(Activity::kWaitForRanks);
  const ScopedTimer timer(wait_s_);
  const c10::intrusive_ptr<c10d::Work> work = [&] {
    try {
      return begin();
    } catch (const c10::Error& error) {
      // The error of a group that was aborted meanwhile names no rank.
      if (has_lost()) FailBecause(MessageFor(error));
      throw;
    }
  }();
  const auto future = work->getFuture();
  const auto done = std::make_shared<std::atomic<bool>>(false);
  const auto end = [done, wake = waker()](c10::ivalue::Future&) {
    *done = true;
    wake();
  };
  // A callback that uses the result would make one of CUDA's pooled streams wait for it.
  future->addCallback(end, /*uses_future=*/false);
  stuck_ = !WaitFor([&] { return done->load(); });
  if (stuck_) FailBecause("no answer");
  if (future->hasError()) {
    FailBecause(MessageFor(std::string_view(future->tryRetrieveErrorMessage())));
  }
  work->wait();  // on a GPU, makes the current stream wait; on a CPU, returns at once
}

void Ranks::FailBecause(const std::string& why) {
  const std::string lost = DescribeLost();
  throw Error(fmt::format("{}, so this rank ends too ({})", lost, why));
}

void Ranks::Sum(at::Tensor& tensor) {
  c10d::AllreduceOptions options;
  options.timeout = kExchangeTimeout;
  std::vector<at::Tensor> tensors = {tensor};
  Exchange([&] { return (tensor.is_cpu() ? host_ : device_)->allreduce(tensors, options); });
}

std::vector<std::vector<double>> Ranks::Gather(const std::vector<double>& numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::vector<at::Tensor> own = {at::tensor(numbers, at::kDouble)};
  std::vector<std::vector<at::Tensor>> all(1);
  for (int i = 0; i < size(); ++i) all[0].push_back(at::empty({count}, at::kDouble));
  c10d::AllgatherOptions options;
  options.timeout = kExchangeTimeout;
  Exchange([&] { return host_->allgather(all, own, options); });
  std::vector<std::vector<double>> result;
  for (const at::Tensor& tensor : all[0]) {
    const auto* data = tensor.const_data_ptr<double>();
    result.emplace_back(data, data + count);
  }
  return result;
}

std::string Ranks::Broadcast(const std::string& text) {
  c10d::BroadcastOptions options;
  options.timeout = kExchangeTimeout;
  std::vector<at::Tensor> length = {at::tensor(static_cast<std::int64_t>(text.size()))};
  Exchange([&] { return host_->broadcast(length, options); });
  std::vector<at::Tensor> bytes = {at::empty({length[0].item<std::int64_t>()}, at::kByte)};
  if (rank() == 0) std::memcpy(bytes[0].mutable_data_ptr(), text.data(), text.size());
  Exchange([&] { return host_->broadcast(bytes, options); });
  return {static_cast<const char*>(bytes[0].const_data_ptr()), bytes[0].nbytes()};
}

void Ranks::Barrier() { Gather({0}); }

namespace {

// A number that stands for a text. Doubles hold 48 bits exactly.
double NumberOf(const std::string& text) {
  return static_cast<double>(std::stoull(HashOf(text).substr(0, 12), nullptr, 16));
}

}  // namespace

int CoresOfEach(const std::vector<RankCores>& ranks) {
  double least = std::numeric_limits<int>::max();
  for (const RankCores& rank : ranks) {
    double on_machine = 0;
    double with_mask = 0;
    for (const RankCores& other : ranks) {
      if (other.machine != rank.machine) continue;
      ++on_machine;
      if (other.mask == rank.mask) ++with_mask;
    }
    least = std::min({least, rank.count / with_mask, rank.quota / on_machine});
  }
  return std::max(1, static_cast<int>(least));
}

int CoresOfEach(Ranks& ranks) {
  const CpuSet own = AllowedCpus();
  std::vector<RankCores> all;
  for (const std::vector<double>& rank :
       ranks.Gather({NumberOf(HostName()), NumberOf(own.mask), static_cast<double>(own.count),
                     CpuQuota().value_or(std::numeric_limits<double>::infinity())})) {
    all.push_back({.machine = rank[0], .mask = rank[1], .count = rank[2], .quota = rank[3]});
  }
  return CoresOfEach(all);
}

}  // namespace tandem
