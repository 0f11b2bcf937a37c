// The CUDA device. Copies from pinned host memory run on a separate stream. The current CUDA device
// is a setting of each thread, so every thread sets it before it uses the GPU: a StreamScope does
// so for work, and a guard in each method of a slot.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "nn/device.h"
#include "tandem/error.h"

#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#ifdef TANDEM_CUDA_KERNELS
#include "cuda/cuda_kernels.h"
#include "domain/permute.h"
#endif

namespace tandem {
namespace {

// The flags of events. A thread sleeps while it waits for one; by default it would spin.
constexpr unsigned kBlocking = cudaEventDisableTiming | cudaEventBlockingSync;

// Held while a thread captures work, and by calls of other threads that would break the capture:
// waiting for the whole device, and enqueuing on a stream that may be the one captured.
std::mutex& CaptureMutex() {
  static std::mutex mutex;
  return mutex;
}

void SynchronizeDevice(c10::Device device) {
  const std::lock_guard lock(CaptureMutex());
  const c10::cuda::CUDAGuard guard(device);
  c10::cuda::device_synchronize();
}

// Does `work` where nothing may be thrown. The next use of a failed device reports the failure.
template <class Work>
void UnlessDeviceFailed(const Work& work) noexcept {
  try {
    work();
  } catch (const c10::Error&) {
  }
}

// Waits for the device before memory is freed: pending work may still use it, and the allocators
// that get it back do not know on which streams it was used.
void AwaitPendingUse(c10::Device device) noexcept {
  UnlessDeviceFailed([&] { SynchronizeDevice(device); });
}

class CudaStreamScope final : public StreamScope {
 public:
  explicit CudaStreamScope(c10::cuda::CUDAStream stream) : guard_(stream) {}

 private:
  c10::cuda::CUDAStreamGuard guard_;
};

class CudaStream final : public Stream {
 public:
  explicit CudaStream(c10::cuda::CUDAStream stream) : stream_(stream) {}
  std::unique_ptr<StreamScope> Enter() override {
    return std::make_unique<CudaStreamScope>(stream_);
  }

 private:
  c10::cuda::CUDAStream stream_;
};

class CudaSlot final : public TransferSlot {
 public:
  CudaSlot(const std::vector<TensorSpec>& tensors, bool pinned, c10::cuda::CUDAStream copies)
      : copies_(copies) {
    const c10::Device device = copies.device();
    for (const TensorSpec& spec : tensors) {
      const auto options = at::TensorOptions().dtype(spec.type);
      host_.push_back(at::empty(spec.sizes, options.pinned_memory(pinned)));
      device_.push_back(at::empty(spec.sizes, options.device(device)));
    }
  }

  ~CudaSlot() override { AwaitPendingUse(copies_.device()); }

  std::span<std::byte> host(std::size_t i) override {
    return {static_cast<std::byte*>(host_[i].data_ptr()), host_[i].nbytes()};
  }
  const at::Tensor& device(std::size_t i) const override { return device_[i]; }

  void AwaitHost() override {
    const c10::cuda::CUDAGuard guard(copies_.device());
    copied_.synchronize();
  }

  void AwaitReleased() override {
    const c10::cuda::CUDAGuard guard(copies_.device());
    released_.synchronize();
  }

  void EnqueueCopy() override {
    const std::lock_guard lock(CaptureMutex());  // `copies_` may be the main stream
    const c10::cuda::CUDAStreamGuard guard(copies_);
    released_.block(copies_);
    for (std::size_t i = 0; i < host_.size(); ++i) {
      device_[i].copy_(host_[i], /*non_blocking=*/true);
    }
    copied_.record(copies_);
  }

  void AwaitCopy() override {
    copied_.block(c10::cuda::getCurrentCUDAStream(copies_.device_index()));
  }

  void Release() noexcept override {
    UnlessDeviceFailed(
        [&] { released_.record(c10::cuda::getCurrentCUDAStream(copies_.device_index())); });
  }

 private:
  c10::cuda::CUDAStream copies_;
  std::vector<at::Tensor> host_;
  std::vector<at::Tensor> device_;
  at::cuda::CUDAEvent copied_{kBlocking};    // recorded on the copy stream
  at::cuda::CUDAEvent released_{kBlocking};  // recorded on the stream that used the tensors
};

class CudaResultSlot final : public ResultSlot {
 public:
  CudaResultSlot(std::size_t bytes, c10::Device device)
      : device_(device),
        host_(at::empty({static_cast<std::int64_t>(bytes)},
                        at::TensorOptions().dtype(at::kByte).pinned_memory(true))) {}

  // Waits for a copy that still writes the host memory.
  ~CudaResultSlot() override {
    UnlessDeviceFailed([&] { Await(); });
  }

  void EnqueueCopy(const at::Tensor& from) override {
    size_ = from.nbytes();
    const c10::cuda::CUDAGuard guard(device_);
    const auto stream = c10::cuda::getCurrentCUDAStream(device_.index());
    C10_CUDA_CHECK(cudaMemcpyAsync(host_.mutable_data_ptr(), from.const_data_ptr(), size_,
                                   cudaMemcpyDeviceToHost, stream.stream()));
    copied_.record(stream);
  }

  std::span<const std::byte> Await() override {
    const c10::cuda::CUDAGuard guard(device_);
    copied_.synchronize();
    return {static_cast<const std::byte*>(host_.const_data_ptr()), size_};
  }

 private:
  const c10::Device device_;
  at::Tensor host_;
  std::size_t size_ = 0;
  at::cuda::CUDAEvent copied_{kBlocking};
};

class CudaEvent final : public DeviceEvent {
 public:
  explicit CudaEvent(c10::Device device) : device_(device) {
    event_.record(c10::cuda::getCurrentCUDAStream(device.index()));
  }

  void Await() override {
    const c10::cuda::CUDAGuard guard(device_);
    event_.synchronize();
  }

 private:
  const c10::Device device_;
  at::cuda::CUDAEvent event_{kBlocking};
};

// Other threads allocate and wait for events while this one captures. With
// cudaStreamCaptureModeThreadLocal, that does not break the capture. CaptureMutex keeps out the
// calls of other threads that still would.
class CudaGraphWork {
 public:
  explicit CudaGraphWork(std::function<void()> work) : work_(std::move(work)) {}

  void Run() {
    if (is_captured_) return graph_.replay();
    if (runs_++ < kWarmUps) return work_();
    try {
      Capture();
    } catch (const c10::OutOfMemoryError&) {
      throw;  // its message names keys to lower
    } catch (const c10::Error& error) {
      throw Error(
          fmt::format("capturing a training step as a CUDA graph failed: {}; set "
                      "backend to reference, which needs no graph",
                      error.what_without_backtrace()));
    }
    is_captured_ = true;
    graph_.replay();
  }

 private:
  void Capture() {
    const std::lock_guard lock(CaptureMutex());
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work_();
    } catch (...) {
      try {
        graph_.capture_end();  // otherwise the stream could not be used again
      } catch (const c10::Error&) {
        // It failed because of the exception that is reported.
      }
      throw;
    }
    graph_.capture_end();
  }

  // Libraries allocate memory and choose kernels when they are first used.
  static constexpr int kWarmUps = 3;

  std::function<void()> work_;
  at::cuda::CUDAGraph graph_;
  int runs_ = 0;
  bool is_captured_ = false;
};

#ifdef TANDEM_CUDA_KERNELS

class CudaPassRunner final : public PassRunner {
 public:
  explicit CudaPassRunner(c10::Device device) : device_(device) {}
  void Run(const LayerPass& pass) const override {
    RunOnGpu(pass, c10::cuda::getCurrentCUDAStream(device_.index()).stream());
  }

 private:
  c10::Device device_;
};

// Copies the position that each byte comes from to the device, as (num_actions, positions).
at::Tensor SourcesOf(const PermutationTable& table, c10::Device device) {
  const auto positions = static_cast<std::int64_t>(table.positions());
  const at::Tensor sources = at::empty({static_cast<std::int64_t>(table.num_actions()), positions},
                                       at::TensorOptions().dtype(at::kByte));
  auto* to = sources.mutable_data_ptr<std::uint8_t>();
  for (std::size_t action = 0; action < table.num_actions(); ++action) {
    to = std::ranges::copy(table.sources(static_cast<Action>(action)), to).out;
  }
  return sources.to(device);  // waits until it is there
}

class CudaPermuter final : public RowPermuter {
 public:
  CudaPermuter(const PermutationTable& table, c10::Device device)
      : sources_(SourcesOf(table, device)) {}

  ~CudaPermuter() override { AwaitPendingUse(sources_.device()); }

  void Apply(const at::Tensor& rows, const at::Tensor& actions) const override {
    Permute(rows, rows, static_cast<const Action*>(actions.const_data_ptr()), /*fan=*/1);
  }

  void Expand(const at::Tensor& rows, const at::Tensor& children) const override {
    Permute(rows, children, /*actions=*/nullptr, static_cast<std::uint32_t>(sources_.size(0)));
  }

  void Walk(const at::Tensor& actions, const at::Tensor& places,
            const at::Tensor& rows) const override {
    RunOnGpu(WalkJob{.sources = sources_.const_data_ptr<std::uint8_t>(),
                     .positions = static_cast<std::uint32_t>(rows.size(1)),
                     .actions = actions.const_data_ptr<std::int32_t>(),
                     .walks = actions.size(1),
                     .places = places.const_data_ptr<std::int64_t>(),
                     .rows = rows.size(0),
                     .to = rows.mutable_data_ptr<std::uint8_t>()},
             CurrentStream());
  }

 private:
  void Permute(const at::Tensor& from, const at::Tensor& to, const Action* actions,
               std::uint32_t fan) const {
    RunOnGpu(PermuteJob{.sources = sources_.const_data_ptr<std::uint8_t>(),
                        .positions = static_cast<std::uint32_t>(from.size(1)),
                        .from = from.const_data_ptr<std::uint8_t>(),
                        .to = to.mutable_data_ptr<std::uint8_t>(),
                        .actions = actions,
                        .rows = static_cast<std::uint64_t>(to.size(0)),
                        .fan = fan},
             CurrentStream());
  }

  cudaStream_t CurrentStream() const {
    return c10::cuda::getCurrentCUDAStream(sources_.device().index()).stream();
  }

  const at::Tensor sources_;
};

#endif

// Makes a stream that belongs to no pool and does not wait for the legacy default stream. It is
// never destroyed, because memory that was used on it may be freed at any time.
c10::cuda::CUDAStream MakeOwnStream(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return c10::cuda::getStreamFromExternal(stream, device.index());
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index)
      : device_(c10::kCUDA, static_cast<c10::DeviceIndex>(index)), main_(MakeOwnStream(device_)) {}

  c10::Device torch() const override { return device_; }

  std::string description() const override {
    return fmt::format("{} ({})", device_.str(), properties()->name);
  }

  bool has_fast_bf16() const override { return properties()->major >= 8; }

  bool has_fp8() const override {  // Ada, Hopper and later
    return properties()->major > 8 || (properties()->major == 8 && properties()->minor >= 9);
  }

  std::unique_ptr<Stream> MainStream() override { return std::make_unique<CudaStream>(main_); }

  std::unique_ptr<Stream> MakeStream() override {
    return std::make_unique<CudaStream>(NewStream());
  }

  std::vector<std::unique_ptr<TransferSlot>> MakeSlots(std::size_t count,
                                                       const std::vector<TensorSpec>& tensors,
                                                       const PrefetchConfig& config) override {
    const c10::cuda::CUDAStream copies = config.copy_stream ? NewStream() : main_;
    const c10::cuda::CUDAStreamGuard guard(copies);
    std::vector<std::unique_ptr<TransferSlot>> slots;
    for (std::size_t i = 0; i < count; ++i) {
      slots.push_back(std::make_unique<CudaSlot>(tensors, config.pin_memory, copies));
    }
    Synchronize();
    return slots;
  }

  std::unique_ptr<ResultSlot> MakeResultSlot(std::size_t bytes) override {
    return std::make_unique<CudaResultSlot>(bytes, device_);
  }

  std::unique_ptr<DeviceEvent> RecordEvent() override {
    return std::make_unique<CudaEvent>(device_);
  }

  std::function<void()> CaptureWork(std::function<void()> work) override {
    return [graph = std::make_shared<CudaGraphWork>(std::move(work))] { graph->Run(); };
  }

#ifdef TANDEM_CUDA_KERNELS
  const PassRunner* passes() const override { return runs_kernels() ? &passes_ : nullptr; }

  std::unique_ptr<RowPermuter> MakePermuter(const PermutationTable& table) override {
    if (!runs_kernels()) return nullptr;
    const c10::cuda::CUDAGuard guard(device_);
    return std::make_unique<CudaPermuter>(table, device_);
  }
#endif

#ifdef USE_C10D_NCCL
  c10::intrusive_ptr<c10d::Backend> MakeBackend(const c10::intrusive_ptr<c10d::Store>& store,
                                                int rank, int size) override {
    const c10::cuda::CUDAGuard guard(device_);
    // Streams of high priority have a pool of their own, so NCCL shares none with evaluations.
    const auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
  }
#endif

  void Synchronize() override { SynchronizeDevice(device_); }

 private:
  bool runs_kernels() const {
    return HasCodeFor(properties()->major, properties()->minor, TANDEM_KERNEL_ARCHITECTURES);
  }

  const cudaDeviceProp* properties() const {
    return at::cuda::getDeviceProperties(device_.index());
  }

  c10::cuda::CUDAStream NewStream() const {
    return c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_.index());
  }

  c10::Device device_;
  c10::cuda::CUDAStream main_;  // not the default stream, which a CUDA graph cannot capture
#ifdef TANDEM_CUDA_KERNELS
  CudaPassRunner passes_{device_};
#endif
};

// Versions of CUDA are numbers such as 13010 for 13.1.
std::string CudaVersion(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string WhyNoGpu(cudaError_t error) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  switch (error) {
    case cudaSuccess:
    case cudaErrorNoDevice:
      return "the NVIDIA driver finds no GPU; nvidia-smi lists those that it knows, and the "
             "environment variable CUDA_VISIBLE_DEVICES may hide them";
    case cudaErrorInsufficientDriver:
      return fmt::format(
          "the NVIDIA driver supports CUDA up to {}, and this program needs {}; "
          "install a newer driver",
          CudaVersion(driver), CudaVersion(CUDART_VERSION));
    default:
      return fmt::format("the NVIDIA driver reports: {}; nvidia-smi may say more",
                         cudaGetErrorString(error));
  }
}

}  // namespace
}  // namespace tandem

extern "C" void tandem_find_gpus(tandem::Gpus& gpus) {
  const cudaError_t error = cudaGetDeviceCount(&gpus.count);
  if (error == cudaSuccess && gpus.count > 0) return;
  gpus.count = 0;
  gpus.missing = tandem::WhyNoGpu(error);
  cudaGetLastError();  // otherwise the next use of CUDA would report it
}

extern "C" tandem::Device* tandem_open_cuda(int index) {
  const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(index));
  const std::string built_for = TANDEM_LIBTORCH_ARCHITECTURES;
  if (!tandem::HasCodeFor(gpu.major, gpu.minor, built_for)) {
    throw tandem::InputError(
        fmt::format("{} has compute capability {}.{}, and LibTorch was built for {}", gpu.name,
                    gpu.major, gpu.minor, built_for));
  }
  return new tandem::CudaDevice(index);
}
