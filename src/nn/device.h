// The CPU or a GPU as training and evaluation use it: which one a process gets, its streams, slots
// for batches and results, captured work, and a recording of what a GPU does.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace at {
class Tensor;
}
namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace tandem {

class PassRunner;
class PermutationTable;

/// TensorSpec is the type and shape of a tensor to allocate.
struct TensorSpec {
  c10::ScalarType type;
  std::vector<std::int64_t> sizes;
};

/// TransferSlot is host memory, the device tensors to which it is copied, and the events that say
/// when either may be rewritten. A thread that fills it and a thread that uses it take turns:
///
///     filling: AwaitHost, write host(i), optionally AwaitReleased, EnqueueCopy
///     using:   AwaitCopy, read device(i) on the current stream, Release
///
/// On a CPU, host(i) and device(i) are the same memory, and the other methods do nothing.
class TransferSlot {
 public:
  virtual ~TransferSlot() = default;

  /// The host memory of tensor `i`.
  virtual std::span<std::byte> host(std::size_t i) = 0;

  /// Tensor `i` on the device. Its memory is valid as long as the slot.
  virtual const at::Tensor& device(std::size_t i) const = 0;

  /// Blocks until the last copy has read the host memory, which may then be rewritten.
  virtual void AwaitHost() = 0;

  /// Blocks until the work that was enqueued before the last Release is done. The next copy then
  /// starts at once, so its duration can be measured.
  virtual void AwaitReleased() = 0;

  /// Enqueues the copy of all tensors on the copy stream or the main stream (see MakeSlots), after
  /// the work that was enqueued before the last Release. Returns at once.
  virtual void EnqueueCopy() = 0;

  /// Makes the calling thread's current stream wait for the copy. Does not block the thread.
  virtual void AwaitCopy() = 0;

  /// Declares that the work now in the calling thread's current stream is the last that uses the
  /// device tensors. Does nothing if the device has failed, which its next use reports.
  virtual void Release() noexcept = 0;
};

/// ResultSlot takes a tensor from the device to the host while the device goes on to other work.
class ResultSlot {
 public:
  virtual ~ResultSlot() = default;

  /// Enqueues the copy of `from`, which is contiguous and not larger than the slot, on the calling
  /// thread's current stream. Returns at once. `from` may then be released, but must
  /// not be written before Await has returned.
  virtual void EnqueueCopy(const at::Tensor& from) = 0;

  /// Blocks until the copy is done. The bytes are valid until the next EnqueueCopy.
  virtual std::span<const std::byte> Await() = 0;
};

/// DeviceEvent is a point in the work of a stream.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;

  /// Blocks the calling thread, which may be any, until the work before the point is done.
  virtual void Await() {}
};

/// StreamScope makes a stream the calling thread's current one until it is destroyed.
class StreamScope {
 public:
  virtual ~StreamScope() = default;
};

/// Stream is a queue of work on the device. Enter makes it the calling thread's current stream.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::unique_ptr<StreamScope> Enter() = 0;
};

/// RowPermuter permutes rows, and walks from the goal, by a kernel of the device. Work is enqueued
/// in the calling thread's current stream. Tensors are contiguous and on the device.
class RowPermuter {
 public:
  virtual ~RowPermuter() = default;

  /// Applies actions[i] to row i of `rows` (n, positions), in place. `actions` (n) are int16 bits.
  virtual void Apply(const at::Tensor& rows, const at::Tensor& actions) const = 0;

  /// Writes the children of `rows` (n, positions) to `children` (n * num_actions, positions), in
  /// the order of Domain::Expand.
  virtual void Expand(const at::Tensor& rows, const at::Tensor& children) const = 0;

  /// Writes states of walks from the goal, as origins (OriginEncoding), to `rows` (n, positions).
  /// Row i is the state of walk places[i] % walks after its first places[i] / walks actions.
  /// `actions` (steps, walks) is int32, `places` (n) is int64.
  virtual void Walk(const at::Tensor& actions, const at::Tensor& places,
                    const at::Tensor& rows) const = 0;
};

/// Device is the CPU or a GPU. Methods may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual c10::Device torch() const = 0;

  /// A description for messages: "cpu", "cuda:0 (NVIDIA H200)".
  virtual std::string description() const = 0;

  /// Whether products in bf16 are faster than in fp32.
  virtual bool has_fast_bf16() const = 0;

  /// Whether products in fp8 (e4m3) can be computed.
  virtual bool has_fp8() const { return false; }

  /// The stream on which training runs, always the same one. All work on the network being trained
  /// and on its optimizer belongs on it.
  virtual std::unique_ptr<Stream> MainStream() = 0;

  /// Makes a stream that runs in parallel with the others.
  virtual std::unique_ptr<Stream> MakeStream() = 0;

  /// Makes `count` slots that share one copy stream. Each slot holds one tensor per element of
  /// `tensors`. Of `config`, only pin_memory and copy_stream matter, and neither on a CPU, where
  /// nothing is copied. Throws Error if there is not enough memory.
  virtual std::vector<std::unique_ptr<TransferSlot>> MakeSlots(
      std::size_t count, const std::vector<TensorSpec>& tensors, const PrefetchConfig& config) = 0;

  /// Makes a kernel for a puzzle's permutations, which need not outlive it. Null if the device has
  /// none, so that tensor operations do the work.
  virtual std::unique_ptr<RowPermuter> MakePermuter(const PermutationTable& /*table*/) {
    return nullptr;
  }

  /// Makes the group in which `size` processes exchange tensors in the memory of their devices.
  /// They meet at `store`. Null if the device has no means of its own. A caller must include the
  /// header of Backend, which is slow to compile.
  virtual c10::intrusive_ptr<c10d::Backend> MakeBackend(
      const c10::intrusive_ptr<c10d::Store>& store, int rank, int size);

  /// Makes a slot for results of at most `bytes` bytes.
  virtual std::unique_ptr<ResultSlot> MakeResultSlot(std::size_t bytes);

  /// Returns the point after all work that is now in the calling thread's current stream. The
  /// default is for a device that works at once.
  virtual std::unique_ptr<DeviceEvent> RecordEvent() { return std::make_unique<DeviceEvent>(); }

  /// Returns a function that enqueues `work` on the calling thread's current stream. A GPU calls
  /// `work` in the first runs, then captures what it enqueues as a CUDA graph, and from then on
  /// replays the graph. `work` must therefore enqueue the same operations on the same addresses
  /// each time, must not wait for the device, and must not decide by values that it reads. All runs
  /// must be on one stream that is not the default stream. The function throws Error if a GPU
  /// cannot capture the work. The default calls `work` each time.
  virtual std::function<void()> CaptureWork(std::function<void()> work) { return work; }

  /// Runs the passes of a step; null in a build without nvcc, or for other GPUs.
  virtual const PassRunner* passes() const { return nullptr; }

  /// Blocks until all work on the device is done, also that of other threads, and until no thread
  /// captures work (CaptureWork). Captured work must not call it. A thread that runs beside
  /// training waits for a DeviceEvent instead.
  virtual void Synchronize() = 0;
};

/// Opens "cpu", "cuda", "cuda:N" or "auto". "auto" means CUDA if a driver, a GPU and Tandem's CUDA
/// library are present, else the CPU. If that GPU cannot be opened, or LibTorch has no code for it,
/// warns and returns the CPU. Must be called before any other use of LibTorch. For the other names,
/// throws InputError that says what is missing.
///
/// For a rank, of number `local_rank` among those of its machine, takes the GPU of GpuOfRank,
/// whatever number `name` has.
std::unique_ptr<Device> OpenDevice(const std::string& name, std::optional<int> local_rank = {});

/// Gpus describes the GPUs of this machine that Tandem can use.
struct Gpus {
  int count = 0;
  std::string missing;  ///< why there are none, if count is 0
};

/// Returns "" if a machine with these GPUs has device `name` ("auto", "cpu", "cuda" or "cuda:N"),
/// else an error message that says why not and what can be used instead.
std::string WhyNoDevice(std::string_view name, const Gpus& gpus);

/// The functions of libtandem_cuda, which OpenDevice opens only if a GPU may be used: sets the GPUs
/// that the driver offers, or why there are none; and returns GPU `index`, which must exist, as a
/// device that the caller owns, or throws InputError if LibTorch has no code for it.
inline constexpr const char* kCudaLibrary = "libtandem_cuda.so";
inline constexpr const char* kFindGpusSymbol = "tandem_find_gpus";
inline constexpr const char* kOpenCudaSymbol = "tandem_open_cuda";
using FindGpusFunction = void(Gpus& gpus);
using OpenCudaFunction = Device*(int index);

/// Returns the GPU of a rank that sees `count` GPUs, at least 1. If the launcher shows each rank
/// only its own GPU, that is number 0 in every rank.
inline int GpuOfRank(int local_rank, int count) { return local_rank % count; }

/// Returns whether a library that was built for `architectures` has code for a GPU of a compute
/// capability. They are names of nvcc: "sm_75 sm_86 compute_90". A binary (sm) runs on GPUs of the
/// same major number and of no lower minor number, and PTX (compute) on all later GPUs. Returns
/// true if `architectures` is empty, because they are not known.
bool HasCodeFor(int major, int minor, const std::string& architectures);

/// KernelTrace records the kernels, copies and memory fills on all CUDA streams of the process with
/// LibTorch's profiler (Kineto), from construction to Save. At most one object may exist at a time.
/// Use it from the main thread only.
class KernelTrace {
 public:
  KernelTrace();
  ~KernelTrace();  // discards the recording if Save was not called
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  /// Writes the recording in Chrome's trace format. Call it once, after Device::Synchronize.
  void Save(const std::filesystem::path& path);

 private:
  bool recording_ = true;
};

}  // namespace tandem
