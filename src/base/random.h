// Reproducible random numbers, keyed by what they are used for.
//
// Each stream is Philox4x64-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC 2011), keyed by (seed, purpose, update, row). Any thread can create the stream of any row
// independently of the other rows, so results do not depend on the number of workers.
#pragma once

#include <Random123/philox.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tandem {

/// Purpose separates the streams for different uses of the same seed. A saved config reproduces its
/// run only if the values never change: append, never renumber.
enum class Purpose : std::uint64_t {
  kInitialWeights = 1,
  kScramble = 2,
  kShuffle = 3,
  kValidation = 4,
  kRollout = 5,
  kReplay = 6,
  kChunkOrder = 7,
  kRowOrder = 8,
  kAnchor = 9,
  kHash = 10,
  kProblem = 11,
  kAction = 12,
  kDepth = 13,
};

/// Random is one stream of random numbers. Not thread-safe; cheap to create.
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose) : Random(seed, purpose, 0, 0) {}
  Random(std::uint64_t seed, Purpose purpose, std::integral auto update, std::integral auto row)
      : key_{{seed, 0}},
        counter_{{0, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(update),
                  static_cast<std::uint64_t>(purpose)}} {}

  std::uint64_t Next() {
    if (used_ == block_.size()) DrawBlock();
    return block_[used_++];
  }

  /// Computes the next numbers of all streams, eight streams at a time where the processor can do
  /// that. No stream's numbers change; this only saves Next() the time.
  static void DrawAhead(std::span<Random> streams);

  /// Uniform in [0, bound). The bias, at most bound / 2^64, is negligible. Requires bound > 0.
  std::uint64_t Below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(Next()) * bound) >> 64);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  // Draws the next four numbers. Not inline, since loops that draw are faster without its code.
  void DrawBlock();

  // The same for eight streams.
  static void DrawEight(std::span<Random> streams);

  __extension__ using Wide = unsigned __int128;

  r123::Philox4x64::key_type key_;
  r123::Philox4x64::ctr_type counter_;
  r123::Philox4x64::ctr_type block_{};
  std::size_t used_ = 4;
};

/// Draws positions [first, end) of a random permutation of `items`, given that the positions before
/// `first` have been drawn (Fisher and Yates). Drawing all positions, in one call or in several
/// consecutive ones, shuffles `items`.
template <class T>
void PartialShuffle(std::span<T> items, std::size_t first, std::size_t end, Random& random) {
  for (std::size_t i = first; i < end; ++i) {
    std::swap(items[i], items[i + random.Below(items.size() - i)]);
  }
}

}  // namespace tandem
