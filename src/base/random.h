// Random numbers that are a function of what they are for.
//
// Each stream is Philox4x64-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC 2011), keyed by (seed, purpose, update, row): any thread can make the stream of any row
// without knowing who made the others, so results do not depend on the number of workers.
#pragma once

#include <Random123/philox.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tandem {

/// Keeps streams for different uses of the same seed apart. Values are part of the promise that a
/// saved config gives the same run again: append, never renumber.
enum class Purpose : std::uint64_t {
  kInitialWeights = 1,
  kScramble = 2,
  kShuffle = 3,
  kValidation = 4,
  kRollout = 5,
  kReplay = 6,
  kChunkOrder = 7,
  kRowOrder = 8,
};

/// One stream. Not thread-safe; cheap to make.
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose, std::uint64_t update = 0, std::uint64_t row = 0)
      : key_{{seed, 0}}, counter_{{0, row, update, static_cast<std::uint64_t>(purpose)}} {}

  std::uint64_t Next() {
    if (used_ == block_.size()) {
      block_ = r123::Philox4x64{}(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  /// Uniform in [0, bound), without bias worth the name: bound / 2^64. Requires bound > 0.
  std::uint64_t Below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(Next()) * bound) >> 64);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  __extension__ using Wide = unsigned __int128;

  r123::Philox4x64::key_type key_;
  r123::Philox4x64::ctr_type counter_;
  r123::Philox4x64::ctr_type block_{};
  std::size_t used_ = 4;
};

/// Draws places [first, end) of a random order of `items`, whose places before `first` were drawn
/// (Fisher and Yates). Drawn from 0 to items.size(), in one part or many, it is a shuffle.
template <class T>
void DrawPlaces(std::span<T> items, std::size_t first, std::size_t end, Random& random) {
  for (std::size_t i = first; i < end; ++i) {
    std::swap(items[i], items[i + random.Below(items.size() - i)]);
  }
}

}  // namespace tandem
