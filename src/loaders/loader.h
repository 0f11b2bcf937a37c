// Batches of examples on the device, from a buffer of rows, from shards, or from both.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/worker.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/examples.h"
#include "nn/device.h"

namespace tandem {

/// Batch is a batch of examples on the device.
struct Batch {
  at::Tensor inputs;   ///< (batch_size, positions) uint8
  at::Tensor targets;  ///< (batch_size, outputs) float
  /// Of each output in the loss, shaped like `targets`. Undefined if all are 1.
  at::Tensor weights;
};

/// Makes a batch of tensor_of(c) for each column c of `schema`, an ExampleSchema.
template <class TensorOf>
Batch MakeBatch(const Schema& schema, const TensorOf& tensor_of) {
  return {.inputs = tensor_of(kInputColumn),
          .targets = tensor_of(kTargetColumn),
          .weights = HasWeights(schema) ? tensor_of(kWeightColumn) : at::Tensor()};
}

/// Joins the rows of batches, in order. If only some have weights, the weights of the others are 1.
Batch Concatenate(const std::vector<Batch>& parts);

/// BatchIterator hands out the batches of one update, in shuffled order. Use it from one thread.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;

  /// Returns the next batch, for use on the calling thread's current stream. Blocks until the batch
  /// is ready. Batch n stays valid until batch n + 2 is requested. Throws what gathering the batch
  /// threw. Requires that a batch remains.
  virtual Batch Next() = 0;
};

/// StoredExamples makes the part of the batches that this process does not generate: an endless
/// sequence of rows on the device. Use it from one thread.
class StoredExamples {
 public:
  virtual ~StoredExamples() = default;

  /// Waits until the next rows are there, which update `update` trains on. Returns at once if the
  /// class does not wait for rows.
  virtual void AwaitRows(std::int64_t update) = 0;

  /// Returns the next batch, which update `update` trains on. The batch has its own memory. If
  /// TakeRows finds no more rows, the batch has fewer rows; without any, returns nothing.
  std::optional<Batch> Next(std::int64_t update);

 protected:
  explicit StoredExamples(const Config& config)
      : batch_size_(config.train.batch_size - config.live_part_of(config.train.batch_size)) {}

 private:
  /// Takes the next rows of the sequence, at least 1 and at most `most`, into their own memory.
  /// Returns nothing if none is there and the class does not wait for rows.
  virtual std::optional<Batch> TakeRows(std::int64_t most, std::int64_t update) = 0;

  const std::int64_t batch_size_;
};

/// The name of the prefetch thread in traces and in the run's time profile.
inline constexpr const char* kPrefetchThread = "prefetch";

/// BufferLoader makes batches of the rows of a buffer.
///
/// With `prefetch.enabled`, it prepares up to `prefetch.depth` batches ahead on its own thread: it
/// gathers rows into a ring of host slots, which are pinned memory for a GPU, and enqueues each
/// slot's copy to the device on the copy stream. The copy of batch n + 1 is enqueued before batch n
/// is handed out. Without prefetching, it gathers and copies each batch on the calling thread when
/// it is requested, so that each step can be timed alone.
///
/// If the rows are in the device's memory, a slot holds the numbers of a batch's rows instead of
/// the rows, and Next gathers the rows on the device. The batches are the same in each case.
///
/// A slot's host memory is rewritten only after the event of its last copy, and its device memory
/// only after the event of the training stream (TransferSlot).
class BufferLoader {
 public:
  /// `device` must outlive this object. `schema` is the ExampleSchema of all buffers, which are in
  /// `memory` and have whole batches. `seed` and `rank` determine the order of rows.
  BufferLoader(Device& device, const Schema& schema, std::int64_t batch_size,
               const PrefetchConfig& prefetch, std::uint64_t seed, Memory memory = Memory::kHost,
               std::int64_t rank = 0);

  /// Returns an iterator over the batches of `rows`, which must outlive it, in an order that is a
  /// function of the seed and `update`. Each row occurs once. The previous iterator must be gone.
  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update);

 private:
  class Iterator;

  const c10::Device device_;
  const std::int64_t batch_size_;
  const std::uint64_t seed_;
  const std::int64_t rank_;
  const Memory memory_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;
  std::optional<Worker> thread_;  // only with prefetch; last, so that it ends before the slots
};

/// DataLoader makes the batches of each update: from a buffer of generated rows, from shards or a
/// stream, or from both. The first rows of a batch are generated, as many as Config::live_part_of
/// says. Use it from one thread.
class DataLoader {
 public:
  /// `stored` is null if all rows are generated. `device` and `stored` must outlive this object.
  /// `schema` is an ExampleSchema. With `generate.program: tensor`, generated rows are in the
  /// device's memory. `rank` is the number of this process, each of which has its own order of
  /// rows.
  DataLoader(Device& device, const Schema& schema, const Config& config, StoredExamples* stored,
             std::int64_t rank = 0);

  /// Returns an iterator over the batches of update `update`. `rows` must outlive it; null if no
  /// rows are generated. Each generated row occurs once, in an order that is a function of the seed
  /// and `update`. The previous iterator must have been destroyed. Waits until the first rows from
  /// shards or a stream are there, unless batches do without them.
  std::unique_ptr<BatchIterator> Open(const DataBuffer* rows, std::int64_t update);

 private:
  class Iterator;

  StoredExamples* const stored_;
  std::optional<BufferLoader> live_;  // empty if no rows are generated
};

/// ShuffledRows are the rows of a chunk or shard on the device, and the order to take them in.
struct ShuffledRows {
  Batch all;
  at::Tensor order;       ///< (rows) int32
  std::int64_t next = 0;  ///< next row to take, as an index into `order`

  std::int64_t left() const { return order.size(0) - next; }

  /// Takes the next rows, at least 1 and at most `most`, into their own memory. Requires left() >
  /// 0.
  Batch Take(std::int64_t most);
};

}  // namespace tandem
