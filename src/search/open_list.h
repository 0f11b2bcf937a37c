// The nodes that a best-first search has yet to expand, least value first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tandem {

/// A heap of nodes with values of at least 0. Among equal values the node of the highest number
/// comes first: as a rule the one furthest from the start.
class OpenList {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t bytes() const { return heap_.capacity() * sizeof(std::uint64_t); }

  /// The most that so many take.
  static std::size_t BytesFor(std::size_t nodes) { return Grown(nodes) * sizeof(std::uint64_t); }

  /// Requires !empty().
  float least() const { return std::bit_cast<float>(static_cast<std::uint32_t>(heap_[0] >> 32)); }

  /// Requires value >= 0, and not the negative zero.
  void Push(float value, std::uint32_t node) {
    if (heap_.size() == heap_.capacity()) heap_.reserve(Grown(heap_.size()));
    heap_.push_back(Key(value, node));
    std::ranges::push_heap(heap_, std::greater());
  }

  /// Removes and returns the node of least value. Requires !empty().
  std::uint32_t Pop() {
    std::ranges::pop_heap(heap_, std::greater());
    const auto node = ~static_cast<std::uint32_t>(heap_.back());
    heap_.pop_back();
    return node;
  }

 private:
  static std::size_t Grown(std::size_t size) { return size * 3 / 2 + 64; }

  // Floats that are not negative are in the order of their bits, so one comparison of whole numbers
  // does for value and node.
  static std::uint64_t Key(float value, std::uint32_t node) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(value)} << 32 | ~node;
  }

  std::vector<std::uint64_t> heap_;
};

}  // namespace tandem
