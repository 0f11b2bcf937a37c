// The CUDA device. Copies from pinned host memory run on a separate stream. The current CUDA device
// is a setting of each thread, so every thread sets it before it uses the GPU: a StreamScope does
// so for work, and a guard in each method of a slot.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <string>

#include "nn/device.h"

#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#ifdef TANDEM_CUDA_KERNELS
#include "nn/cuda_permute.h"
#endif

namespace tandem {
namespace {

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

  // Waits for the device: pending work may still read this memory, and the allocators that get it
  // back do not know on which streams it was used.
  ~CudaSlot() override {
    try {
      const c10::cuda::CUDAGuard guard(copies_.device());
      c10::cuda::device_synchronize();
    } catch (const c10::Error&) {
      // The device has failed; the next use of it reports that.
    }
  }

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
    try {
      released_.record(c10::cuda::getCurrentCUDAStream(copies_.device_index()));
    } catch (const c10::Error&) {
      // The device has failed; the next use of it reports that.
    }
  }

 private:
  c10::cuda::CUDAStream copies_;
  std::vector<at::Tensor> host_;
  std::vector<at::Tensor> device_;
  // Lets a thread sleep while it waits for an event. By default it would spin.
  static constexpr unsigned kBlocking = cudaEventDisableTiming | cudaEventBlockingSync;
  at::cuda::CUDAEvent copied_{kBlocking};    // recorded on the copy stream
  at::cuda::CUDAEvent released_{kBlocking};  // recorded on the stream that used the tensors
};

#ifdef TANDEM_CUDA_KERNELS

class CudaPermuter final : public RowPermuter {
 public:
  explicit CudaPermuter(const PermutationTable& table) : permutations_(table) {}

  void Apply(const at::Tensor& rows, const at::Tensor& actions) const override {
    permutations_.Apply(RowsOf(rows), static_cast<const Action*>(actions.const_data_ptr()),
                        StreamOf(rows));
  }

  void Expand(const at::Tensor& rows, const at::Tensor& children) const override {
    permutations_.Expand(RowsOf(rows), RowsOf(children), StreamOf(rows));
  }

 private:
  static Rows RowsOf(const at::Tensor& tensor) {
    return {tensor.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(tensor.size(0)),
            static_cast<std::size_t>(tensor.size(1))};
  }
  static cudaStream_t StreamOf(const at::Tensor& tensor) {
    return c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
  }

  CudaPermutations permutations_;
};

#endif

// Shows ranges in Nsight Systems. Without Nsight Systems the calls do nothing.
class NvtxRanges final : public RangeListener {
 public:
  void Begin(std::string_view name) override { nvtxRangePushA(std::string(name).c_str()); }
  void End() override { nvtxRangePop(); }
};

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

#ifdef TANDEM_CUDA_KERNELS
  std::unique_ptr<RowPermuter> MakePermuter(const PermutationTable& table) override {
    const c10::cuda::CUDAGuard guard(device_);
    return std::make_unique<CudaPermuter>(table);
  }
#endif

#ifdef USE_C10D_NCCL
  c10d::Backend* MakeBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                             int size) override {
    const c10::cuda::CUDAGuard guard(device_);
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size).release();
  }
#endif

  RangeListener* Ranges() override { return &ranges_; }

  void Synchronize() override {
    const c10::cuda::CUDAGuard guard(device_);
    c10::cuda::device_synchronize();
  }

 private:
  const cudaDeviceProp* properties() const {
    return at::cuda::getDeviceProperties(device_.index());
  }

  c10::cuda::CUDAStream NewStream() const {
    return c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_.index());
  }

  c10::Device device_;
  c10::cuda::CUDAStream main_;  // not the default stream, which a CUDA graph cannot capture
  NvtxRanges ranges_;
};

}  // namespace
}  // namespace tandem

extern "C" int tandem_count_gpus() { return c10::cuda::device_count(); }

extern "C" tandem::Device* tandem_open_cuda(int index) { return new tandem::CudaDevice(index); }
