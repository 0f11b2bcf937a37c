// The open entries of a best-first search.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tandem {

/// OpenList is a priority queue of nodes by value, least value first. Values must be at least 0.
/// Among equal values the node with the highest number comes first; it is usually the one furthest
/// from the start.
class OpenList {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  std::size_t bytes() const { return heap_.capacity() * sizeof(std::uint64_t); }

  /// An upper bound on the memory, in bytes, for `nodes` entries.
  static std::size_t BytesFor(std::size_t nodes) { return Grown(nodes) * sizeof(std::uint64_t); }

  /// The least value. Requires !empty().
  float least() const { return std::bit_cast<float>(static_cast<std::uint32_t>(heap_[0] >> 32)); }

  /// Requires value >= 0 and not negative zero.
  void Push(float value, std::uint32_t node) {
    if (heap_.size() == heap_.capacity()) heap_.reserve(Grown(heap_.size()));
    heap_.push_back(Key(value, node));
    std::ranges::push_heap(heap_, std::greater());
  }

  /// Removes and returns the node with the least value. Requires !empty().
  std::uint32_t Pop() {
    std::ranges::pop_heap(heap_, std::greater());
    const auto node = ~static_cast<std::uint32_t>(heap_.back());
    heap_.pop_back();
    return node;
  }

 private:
  static std::size_t Grown(std::size_t size) { return size * 3 / 2 + 64; }

  // Non-negative floats compare like their bit patterns, so one integer comparison orders by value
  // and then by node.
  static std::uint64_t Key(float value, std::uint32_t node) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(value)} << 32 | ~node;
  }

  std::vector<std::uint64_t> heap_;
};

}  // namespace tandem
