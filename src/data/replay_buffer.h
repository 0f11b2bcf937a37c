// Keeps the rows of recent updates to train on them again, in memory and in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/data_buffer.h"

namespace tandem {

/// ReplayBuffer holds copies of the buffers of the newest update and of up to `earlier` updates
/// before it, and draws from them the rows that an update trains on. A sample has as many rows as
/// one buffer, drawn uniformly without replacement. It is a function of the seed, the update and
/// the rows held. If `earlier` is 0, it is a copy of the newest buffer.
///
/// All memory is allocated at construction. Not thread-safe.
class ReplayBuffer {
 public:
  /// Each buffer has `rows` rows of `schema`.
  ReplayBuffer(const Schema& schema, std::size_t rows, std::int64_t earlier, std::uint64_t seed);

  /// Adds a copy of the buffer of `update`, in place of the oldest one if there is no room. Updates
  /// must be consecutive, from any first one on. Throws Error if an update is out of order.
  void Add(std::int64_t update, const DataBuffer& rows);

  /// Draws the sample for the update that was added last. Its rows are in the order of the buffers.
  /// The sample stays valid until the next call.
  const DataBuffer& Sample();

  /// The updates held: [first, end), empty at first.
  std::int64_t first() const { return first_; }
  std::int64_t end() const { return end_; }

  /// The buffer of `update`. Requires first() <= update < end().
  const DataBuffer& BufferOf(std::int64_t update) const { return buffers_[SlotOf(update)]; }

  const Schema& schema() const { return sample_.schema(); }
  std::size_t rows() const { return sample_.rows(); }
  std::int64_t earlier() const { return static_cast<std::int64_t>(buffers_.size()) - 1; }

 private:
  std::size_t SlotOf(std::int64_t update) const {
    return static_cast<std::size_t>(update) % buffers_.size();
  }

  const std::uint64_t seed_;
  std::vector<DataBuffer> buffers_;  // buffers_[u % size] belongs to update u
  DataBuffer sample_;
  std::int64_t first_ = 0;
  std::int64_t end_ = 0;
  std::vector<std::uint32_t> picked_;  // drawn rows of one buffer
};

/// Writes the buffers of the replay.earlier() updates before update `next`, which a run needs to
/// resume there. The file appears complete or not at all. Throws Error that names the file.
void WriteReplay(const std::filesystem::path& path, const ReplayBuffer& replay, std::int64_t next);

/// Loads a file that WriteReplay wrote into `replay`, which must be empty. Throws InputError that
/// names the file if it does not exist, is damaged, or was written for another schema, another
/// number of rows or other updates.
void ReadReplay(const std::filesystem::path& path, ReplayBuffer& replay, std::int64_t next);

}  // namespace tandem
