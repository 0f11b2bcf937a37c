// What differs between a CPU and a GPU: streams, and memory that copies can run behind.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/timeline.h"

namespace tandem {

/// A tensor to make room for.
struct TensorSpec {
  at::ScalarType type;
  std::vector<std::int64_t> sizes;
};

/// How slots copy. On a CPU, where nothing is copied, neither has an effect.
struct SlotOptions {
  bool pinned = true;       ///< host memory that the GPU reads by itself
  bool copy_stream = true;  ///< copies run beside computation, on a stream of their own
};

/// Host memory, the device tensors it is copied to, and the events that say when either may be
/// rewritten. A filling thread and a using thread pass it to and fro; in their order:
///
///     filling: AwaitHost, write host(i), AwaitReleased if it likes, EnqueueCopy
///     using:   AwaitCopy, read device(i) on its current stream, Release
///
/// On a CPU both memories are one and the events are nothing.
class TransferSlot {
 public:
  virtual ~TransferSlot() = default;

  /// Memory of tensor `i` on the host.
  virtual std::span<std::byte> host(std::size_t i) = 0;

  /// Tensor `i` on the device. Lives as long as the slot.
  virtual const at::Tensor& device(std::size_t i) const = 0;

  /// Blocks until the last copy has left the host memory.
  virtual void AwaitHost() = 0;

  /// Blocks until what was running at the last Release is done, so that a copy begins at once: for
  /// who wants to know how long copies take.
  virtual void AwaitReleased() = 0;

  /// Copies all tensors on the copy stream (or the main one, see SlotOptions), behind what was
  /// running at the last Release. Returns at once.
  virtual void EnqueueCopy() = 0;

  /// Makes the calling thread's current stream wait for the copy. Does not block the thread.
  virtual void AwaitCopy() = 0;

  /// What is on the calling thread's current stream now is the last use of the device tensors.
  /// Where the device has failed it does nothing: whoever uses the device next hears of that.
  virtual void Release() noexcept = 0;
};

/// Until it goes, the calling thread works on the device, on a certain stream.
class StreamScope {
 public:
  virtual ~StreamScope() = default;
};

/// A queue of work on the device.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::unique_ptr<StreamScope> Enter() = 0;
};

/// A place to compute on. Methods may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual c10::Device torch() const = 0;

  /// For people: "cpu", "cuda:0 (NVIDIA H200)".
  virtual std::string description() const = 0;

  /// Whether products in bf16 are faster than in fp32.
  virtual bool has_fast_bf16() const = 0;

  /// The stream that training runs on, always the same one. All that is done to the network in
  /// training and to its optimiser belongs there.
  virtual std::unique_ptr<Stream> MainStream() = 0;

  /// A stream of its own, which runs beside the others.
  virtual std::unique_ptr<Stream> MakeStream() = 0;

  /// Slots made by one call to this share one copy stream. Throws Error if memory runs out.
  virtual std::vector<std::unique_ptr<TransferSlot>> MakeSlots(
      std::size_t count, const std::vector<TensorSpec>& tensors, SlotOptions options) = 0;

  /// Who shows the run's spans in the vendor's profiler; null where there is none.
  virtual RangeListener* Ranges() { return nullptr; }

  /// Blocks until all work on the device is done.
  virtual void Synchronize() = 0;
};

/// Opens "cpu", "cuda", "cuda:N" or "auto", which is CUDA where a driver, a GPU and Tandem's CUDA
/// library are there, else the CPU. Call before anything else of LibTorch. Throws InputError that
/// says what is missing.
std::unique_ptr<Device> OpenDevice(const std::string& name);

}  // namespace tandem
