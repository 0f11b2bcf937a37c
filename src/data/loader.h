// The interfaces from which a training step gets its batches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/worker.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "nn/device.h"

namespace tandem {

/// Batch is a batch of examples on the device.
struct Batch {
  at::Tensor inputs;   ///< (batch_size, positions) uint8
  at::Tensor targets;  ///< (batch_size, outputs) float
};

/// BatchIterator hands out the batches of one update, in shuffled order. Use it from one thread.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;

  /// Returns the next batch, for use on the calling thread's current stream. Blocks until the batch
  /// is ready. Batch n stays valid until batch n + 2 is requested. Throws what gathering the batch
  /// threw. Requires that a batch remains.
  virtual Batch Next() = 0;
};

/// DataLoader makes a BatchIterator for each update.
class DataLoader {
 public:
  virtual ~DataLoader() = default;

  /// Returns an iterator over the batches of `rows`, which must outlive it. Each row occurs once.
  /// The order is a function of the seed and `update`. The previous iterator must have been
  /// destroyed.
  virtual std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) = 0;
};

/// LazyShuffle is a random permutation of 0..n-1 that is drawn only as far as it is used.
class LazyShuffle {
 public:
  LazyShuffle(std::size_t n, Random random);

  /// Returns the next `count` numbers, or all that remain.
  std::span<const std::uint32_t> Next(std::size_t count);

 private:
  std::vector<std::uint32_t> order_;
  std::size_t drawn_ = 0;
  Random random_;
};

/// The order in which update `update` trains on its `rows` rows.
LazyShuffle OrderOf(std::size_t rows, std::uint64_t seed, std::int64_t update);

/// Copies the rows whose numbers are in `picked` to the slot's host memory.
void Gather(const DataBuffer& rows, std::span<const std::uint32_t> picked, TransferSlot& slot);

/// The batch of `rows` rows in the slot's device memory. The result refers to that memory.
Batch BatchIn(const TransferSlot& slot, std::int64_t rows);

/// The tensors that a slot needs for batches of `schema`, which is an ExampleSchema.
std::vector<TensorSpec> BatchTensors(const Schema& schema, std::int64_t batch_size);

/// The name of the prefetch thread of training in traces and in the run's time profile.
inline constexpr const char* kPrefetchThread = "prefetch";

struct LoaderOptions {
  std::int64_t batch_size = 1;  ///< rows; the last batch of a buffer may be smaller
  /// With prefetch: how many batches are prepared ahead of the one in use.
  std::int64_t depth = PrefetchConfig{}.depth;
  std::uint64_t seed = 0;  ///< determines the order of rows
  SlotOptions slots;
  std::string thread_name = kPrefetchThread;  ///< with prefetch: the name of its thread
};

/// The options that the config section `prefetch` selects.
SlotOptions SlotOptionsFor(const PrefetchConfig& config);
LoaderOptions LoaderOptionsFor(const PrefetchConfig& config, std::int64_t batch_size,
                               std::uint64_t seed);

/// The number of slots, each of one batch, of the loader that `config` selects.
std::int64_t NumSlots(const PrefetchConfig& config);

/// Makes a PrefetchLoader if `prefetch` is set, else a SyncLoader. Both hand out the same batches.
/// `device` must outlive the result.
std::unique_ptr<DataLoader> MakeLoader(Device& device, const Schema& schema, bool prefetch,
                                       LoaderOptions options);

/// SyncLoader hands out the same batches as PrefetchLoader, but gathers and copies each of them on
/// the calling thread when it is requested. It serves to measure the time of each step alone, and
/// the gain from prefetching.
class SyncLoader final : public DataLoader {
 public:
  static constexpr std::size_t kNumSlots = 2;  ///< the current batch and the previous one

  /// `device` must outlive this object. `schema` is an ExampleSchema, and that of all buffers.
  SyncLoader(Device& device, const Schema& schema, LoaderOptions options);

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  class Iterator;

  const LoaderOptions options_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;
};

/// `PrefetchLoader` prepares batches on its own thread: it gathers rows into a ring of host slots,
/// which are pinned memory for a GPU, and enqueues each slot's copy to the device on the copy
/// stream. The copy of batch n + 1 is enqueued before batch n is handed out.
///
/// The trainer holds batches n and n - 1 while up to `depth` later ones are prepared, so the ring
/// has depth + 2 slots. A slot's host memory is rewritten only after the event of its last copy,
/// and its device memory only after the event of the training stream (TransferSlot).
class PrefetchLoader final : public DataLoader {
 public:
  static std::size_t NumSlots(std::int64_t depth) { return static_cast<std::size_t>(depth) + 2; }

  /// `device` must outlive this object. `schema` is an ExampleSchema, and that of all buffers.
  PrefetchLoader(Device& device, const Schema& schema, LoaderOptions options);
  ~PrefetchLoader() override;

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  class Iterator;

  const LoaderOptions options_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;
  Worker thread_;  // declared last, so that it ends before the members that it uses
};

/// InterleavedLoader joins two loaders: each of its batches is a batch of `live` followed by a
/// batch of `stored`. `live` gets the rows of the update.
class InterleavedLoader final : public DataLoader {
 public:
  /// Both must outlive this object. The batch size of each is its share of the joint batch.
  InterleavedLoader(DataLoader& live, DataLoader& stored) : live_(live), stored_(stored) {}

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  DataLoader& live_;
  DataLoader& stored_;
};

}  // namespace tandem
