// Permutes rows, and takes walks, in the way of a GPU: each block of threads, which share a little
// memory, computes one tile of rows, and each thread one byte of a walk's state.
// cuda/cuda_kernels.cu runs this code on a GPU. It is plain C++, so a test can run the same steps
// on a CPU, one thread after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Marks plain C++ that nvcc also compiles for a GPU.
#ifdef __CUDACC__
#define TANDEM_HOST_DEVICE __host__ __device__
#else
#define TANDEM_HOST_DEVICE
#endif

namespace tandem {

/// Reads memory that nothing writes meanwhile. A GPU keeps it in its read-only cache.
template <class T>
TANDEM_HOST_DEVICE inline T ReadOnly(const T* at) {
#ifdef __CUDA_ARCH__
  return __ldg(at);
#else
  return *at;
#endif
}

/// FastDivider divides numbers below 2^17 by a number below 2^16, without a division instruction.
class FastDivider {
 public:
  explicit FastDivider(std::uint32_t by) : magic_(((std::uint64_t{1} << 40) + by - 1) / by) {}

  TANDEM_HOST_DEVICE std::uint32_t operator()(std::uint32_t number) const {
    return static_cast<std::uint32_t>((number * magic_) >> 40);
  }

 private:
  std::uint64_t magic_;
};

/// PermuteJob sets row r of `to` to row r / fan of `from`, permuted by actions[r], or by action
/// r % fan if `actions` is null. If fan is 1, `to` may equal `from`; otherwise they must not
/// overlap. Rows are packed.
struct PermuteJob {
  const std::uint8_t* sources;  ///< (num_actions, positions): the position each byte comes from
  std::uint32_t positions;      ///< bytes per row, 1 to 256
  const std::uint8_t* from;
  std::uint8_t* to;
  const std::uint16_t* actions;
  std::uint64_t rows;  ///< number of rows of `to`
  std::uint32_t fan;

  FastDivider by_positions{positions};
  FastDivider by_fan{fan};
};

/// PermuteTile is a range of consecutive rows of a job. All threads of a block call Load, wait for
/// each other, and then call Store.
///
/// Neighbouring threads read and write neighbouring words, for rows of any length and alignment.
/// Only bytes at the ends of a tile are read and written one by one.
class PermuteTile {
 public:
  static constexpr std::uint32_t kBytes = 8192;

  /// The size of the memory that the threads of a block share. It must be aligned to 4 bytes, and
  /// holds the rows that the tile is made from.
  static constexpr std::uint32_t kSharedBytes = kBytes + 4;

  /// The number of tiles of a job.
  static std::uint64_t CountOf(const PermuteJob& job) {
    const std::uint64_t rows = kBytes / job.positions;
    return (job.rows + rows - 1) / rows;
  }

  TANDEM_HOST_DEVICE PermuteTile(const PermuteJob& job, std::uint64_t number) : job_(job) {
    const std::uint32_t most = kBytes / job.positions;
    first_ = number * most;
    const std::uint64_t left = job.rows - first_;
    rows_ = left < most ? static_cast<std::uint32_t>(left) : most;
    const std::uint64_t first_state = first_ / job.fan;
    phase_ = static_cast<std::uint32_t>(first_ - first_state * job.fan);
    from_ = job.from + first_state * job.positions;
    shift_ = Misalignment(from_);
  }

  /// Does the part of thread `thread` of `threads`. Requires threads >= 4.
  TANDEM_HOST_DEVICE void Load(std::uint32_t thread, std::uint32_t threads,
                               std::uint8_t* shared) const {
    const std::uint32_t states = job_.by_fan(phase_ + rows_ - 1) + 1;
    std::uint8_t* to = shared + shift_;  // has the same alignment as from_
    ForWords(
        shift_, states * job_.positions, thread, threads,
        [&](std::uint32_t at) { WriteWord(to + at, ReadWord(from_ + at)); },
        [&](std::uint32_t at) { to[at] = from_[at]; });
  }

  TANDEM_HOST_DEVICE void Store(std::uint32_t thread, std::uint32_t threads,
                                const std::uint8_t* shared) const {
    std::uint8_t* to = job_.to + first_ * job_.positions;
    ForWords(
        Misalignment(to), rows_ * job_.positions, thread, threads,
        [&](std::uint32_t at) {
          Cursor cursor(*this, at, shared);
          std::uint32_t word = 0;
          for (int byte = 0; byte < 4; ++byte) {
            word |= static_cast<std::uint32_t>(cursor.Next()) << (8 * byte);
          }
          WriteWord(to + at, word);
        },
        [&](std::uint32_t at) { to[at] = Cursor(*this, at, shared).Next(); });
  }

 private:
  // Computes the bytes of the tile one after another, starting at any byte.
  class Cursor {
   public:
    TANDEM_HOST_DEVICE Cursor(const PermuteTile& tile, std::uint32_t at, const std::uint8_t* shared)
        : tile_(tile), shared_(shared), row_(tile.job_.by_positions(at)) {
      position_ = at - row_ * tile.job_.positions;
      FindRow();
    }

    TANDEM_HOST_DEVICE std::uint8_t Next() {
      if (position_ == tile_.job_.positions) {
        position_ = 0;
        ++row_;
        FindRow();
      }
      return state_[ReadOnly(sources_ + position_++)];
    }

   private:
    TANDEM_HOST_DEVICE void FindRow() {
      const PermuteJob& job = tile_.job_;
      const std::uint32_t state = job.by_fan(tile_.phase_ + row_);
      const std::uint32_t action = job.actions != nullptr
                                       ? ReadOnly(job.actions + tile_.first_ + row_)
                                       : tile_.phase_ + row_ - state * job.fan;
      state_ = shared_ + tile_.shift_ + state * job.positions;
      sources_ = job.sources + static_cast<std::size_t>(action) * job.positions;
    }

    const PermuteTile& tile_;
    const std::uint8_t* shared_;
    std::uint32_t row_;  // row within the tile
    std::uint32_t position_;
    const std::uint8_t* state_;
    const std::uint8_t* sources_;
  };

  // Splits `bytes` bytes, the first of which is `misalignment` bytes after the start of a word,
  // into whole words and single bytes at both ends. Calls whole(at) for each word and single(at)
  // for each remaining byte. Each call is made by one of the threads.
  template <class Whole, class Single>
  TANDEM_HOST_DEVICE static void ForWords(std::uint32_t misalignment, std::uint32_t bytes,
                                          std::uint32_t thread, std::uint32_t threads,
                                          const Whole& whole, const Single& single) {
    const std::uint32_t before = (4 - misalignment) % 4;
    const std::uint32_t head = before < bytes ? before : bytes;
    const std::uint32_t words = (bytes - head) / 4;
    for (std::uint32_t i = thread; i < words; i += threads) whole(head + 4 * i);
    if (thread < head) single(thread);
    const std::uint32_t tail = head + 4 * words + thread;
    if (tail < bytes && thread < 4) single(tail);
  }

  TANDEM_HOST_DEVICE static std::uint32_t Misalignment(const void* at) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at) % 4);
  }

  TANDEM_HOST_DEVICE static std::uint32_t ReadWord(const std::uint8_t* at) {
    std::uint32_t word;  // NOLINT(*-init-variables): written by the next line
    std::memcpy(&word, __builtin_assume_aligned(at, 4), sizeof(word));
    return word;
  }

  TANDEM_HOST_DEVICE static void WriteWord(std::uint8_t* at, std::uint32_t word) {
    std::memcpy(__builtin_assume_aligned(at, 4), &word, sizeof(word));
  }

  const PermuteJob& job_;
  std::uint64_t first_;       // first row of `to`
  std::uint32_t rows_;        // number of rows of `to`
  std::uint32_t phase_;       // first_ % fan: the action of the first row if `actions` is null
  const std::uint8_t* from_;  // first row that the tile reads
  std::uint32_t shift_;       // offset in shared memory of the copy of that row
};

/// WalkJob describes states of walks that start at the goal. A state is a row of origins: for each
/// position, the position of the goal that its byte comes from (OriginEncoding).
struct WalkJob {
  const std::uint8_t* sources;  ///< (num_actions, positions): the position each byte comes from
  std::uint32_t positions;      ///< 1 to 256
  const std::int32_t* actions;  ///< (steps, walks)
  std::int64_t walks;
  const std::int64_t* places;  ///< (rows): row i is walk places[i] % walks after places[i] / walks
                               ///< actions
  std::int64_t rows;
  std::uint8_t* to;  ///< (rows, positions)

  /// Writes byte `byte` of `to`: follows its position back through the actions, from the last to
  /// the first. Requires byte < rows * positions.
  TANDEM_HOST_DEVICE void Write(std::int64_t byte) const {
    const std::int64_t row = byte / positions;
    auto position = static_cast<std::uint32_t>(byte - row * positions);
    for (std::int64_t last = ReadOnly(places + row) - walks; last >= 0; last -= walks) {
      const auto action = static_cast<std::size_t>(ReadOnly(actions + last));
      position = ReadOnly(sources + action * positions + position);
    }
    to[byte] = static_cast<std::uint8_t>(position);
  }
};

}  // namespace tandem
