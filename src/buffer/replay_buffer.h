// The rows of recent updates, kept to be trained on again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "buffer/data_buffer.h"

namespace tandem {

/// Holds the buffers of the newest update and of the `earlier` ones before it, as copies, and draws
/// from them what an update trains on: as many rows as one buffer has, without replacement, each
/// row that is held with the same chance. Which rows is a function of the seed, the update and what
/// is held. So with 0 earlier updates the sample is the buffer itself, and before `earlier` updates
/// are there it is drawn from fewer.
///
/// All memory is taken at once; that of the buffers may be a file that is mapped into memory. Has
/// no locks: one thread at a time.
class ReplayBuffer {
 public:
  /// Buffers are of `schema` and have `rows` rows. With `map_to`, they lie in files in that folder
  /// (MakeMappedStorage), else on the heap.
  ReplayBuffer(const Schema& schema, std::size_t rows, std::int64_t earlier, std::uint64_t seed,
               const std::filesystem::path& map_to = {});

  /// What the constructor takes for the buffers; besides, the sample takes as much as one of them.
  static std::size_t BytesFor(const Schema& schema, std::size_t rows, std::int64_t earlier);

  /// Copies the buffer of `update` in, in place of the oldest once there is no more room. Updates
  /// come one after the other; the first may be any.
  void Add(std::int64_t update, const DataBuffer& rows);

  /// Draws the sample of the update that was added last. Its rows are in the order of the buffers,
  /// valid until the next call.
  const DataBuffer& Sample();

  /// The updates held: [first, end), empty at first.
  std::int64_t first() const { return first_; }
  std::int64_t end() const { return end_; }

  /// The buffer of an update that is held.
  const DataBuffer& BufferOf(std::int64_t update) const { return buffers_[SlotOf(update)]; }

  const Schema& schema() const { return sample_.schema(); }
  std::size_t rows() const { return sample_.rows(); }
  std::int64_t earlier() const { return static_cast<std::int64_t>(buffers_.size()) - 1; }

 private:
  std::size_t SlotOf(std::int64_t update) const {
    return static_cast<std::size_t>(update) % buffers_.size();
  }

  const std::uint64_t seed_;
  std::vector<DataBuffer> buffers_;  // that of update u is number u mod size
  DataBuffer sample_;
  std::int64_t first_ = 0;
  std::int64_t end_ = 0;
  std::vector<std::uint32_t> picked_;  // rows of one buffer
};

}  // namespace tandem
