// Sets of numbers that are joined step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tandem {

/// DisjointSets divides the numbers below `size`, at most 2^32, into sets. At first, each is in a
/// set of its own.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  /// Joins the sets of two numbers.
  void Join(std::size_t a, std::size_t b) { parent_[Find(a)] = Find(b); }

  /// Returns the number that stands for the set of `i`, until the next Join.
  std::uint32_t Find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return static_cast<std::uint32_t>(i);
  }

  /// Returns the number of elements of each set, at the index that Find returns.
  std::vector<std::size_t> Sizes() {
    std::vector<std::size_t> sizes(parent_.size());
    for (std::size_t i = 0; i < parent_.size(); ++i) ++sizes[Find(i)];
    return sizes;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace tandem
