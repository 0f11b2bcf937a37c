// The network's estimates of the states that a search has expanded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "generate/bellman.h"

namespace tandem {

/// KnownEstimates remembers the estimates of the states that one search has expanded, so that they
/// are not evaluated again as children of their own children. Requires that
/// ChildEstimates::skips_known(). States are compared by all their bytes.
class KnownEstimates {
 public:
  void Clear();

  /// Adds states first to first + count - 1 of `batch` whose estimates are known, and then sets the
  /// estimates of those of their children that are among the added states. The states must have
  /// been expanded. Different objects may be used by different threads for different states of a
  /// batch.
  void AddAndReuse(StateBatch& batch, std::size_t first, std::size_t count);

 private:
  void Add(std::span<const std::uint8_t> state, float estimate);

  std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
  std::vector<std::uint8_t> states_;
  std::vector<float> estimates_;
};

}  // namespace tandem
