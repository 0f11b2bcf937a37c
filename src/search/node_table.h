// The states that a best-first search has met, and how it came to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// Numbers different states from 0 on, in the order in which they were added, and finds the number
/// of a state. A 64-bit hash tells where to look, and all bytes are compared: states are never
/// mistaken for each other.
///
/// A node takes the state's bytes, 14 more for how it came about, and 11 to 16 in the index. Memory
/// grows with the nodes, and nothing but the index, a sixth of the whole, is ever copied to grow.
class NodeTable {
 public:
  struct Node {
    float cost;                 ///< of the cheapest path found
    float estimate;             ///< of the cost-to-go
    std::uint32_t parent : 31;  ///< the node before, on that path
    std::uint32_t closed : 1;   ///< expanded since its cost last changed
  };

  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 31;

  explicit NodeTable(std::size_t state_size);

  std::size_t size() const { return size_; }

  /// Of memory held.
  std::size_t bytes() const;

  /// The most that so many nodes take.
  static std::size_t BytesFor(std::size_t nodes, std::size_t state_size);

  /// The node of `state`, or kNone. `hash` is HashState(state).
  std::uint32_t Find(std::span<const std::uint8_t> state, std::uint64_t hash) const;

  /// Adds a state that is not there yet, as node number size(). Throws Error at kMostNodes.
  void Add(std::span<const std::uint8_t> state, std::uint64_t hash, Node node, Action action);

  /// Asks for the memory that Find and Add will look at; a hint, for a few states ahead.
  void Prefetch(std::uint64_t hash) const { __builtin_prefetch(&index_[Home(Tag(hash))]); }

  std::span<const std::uint8_t> state(std::uint32_t node) const {
    return {&chunks_[node / kChunk]->states[node % kChunk * state_size_], state_size_};
  }
  Node& operator[](std::uint32_t node) { return chunks_[node / kChunk]->nodes[node % kChunk]; }
  const Node& operator[](std::uint32_t node) const {
    return chunks_[node / kChunk]->nodes[node % kChunk];
  }
  /// The last action of the cheapest path found.
  Action& action(std::uint32_t node) { return chunks_[node / kChunk]->actions[node % kChunk]; }
  Action action(std::uint32_t node) const { return chunks_[node / kChunk]->actions[node % kChunk]; }

 private:
  static constexpr std::uint32_t kChunk = 256;  // nodes whose memory is allocated together

  // Not initialised: every row is written before it is read.
  struct Chunk {                             // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::unique_ptr<std::uint8_t[]> states;  // NOLINT(modernize-avoid-c-arrays): sized at run time
    std::array<Node, kChunk> nodes;
    std::array<Action, kChunk> actions;
  };

  // The index is open addressing with linear probing. A tag is half of the state's hash: it tells
  // most other states apart without a look at their bytes, and where the slot moves to when the
  // index grows, so that growing never looks at states either.
  struct Slot {
    std::uint32_t tag;
    std::uint32_t node;
  };

  static std::uint32_t Tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  // Slots are in the order of their tags, so growing runs through memory from front to back.
  std::size_t Home(std::uint32_t tag) const { return (tag * index_.size()) >> 32; }
  std::size_t Next(std::size_t slot) const { return slot + 1 == index_.size() ? 0 : slot + 1; }

  void Put(Slot slot);
  void GrowIndex();

  const std::size_t state_size_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Slot> index_;
};

}  // namespace tandem
