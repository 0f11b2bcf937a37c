// The states that a best-first search has found, with the cheapest known path to each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// NodeTable stores distinct states as nodes 0, 1, 2, ... in the order in which they were added,
/// and finds the node of a state. A 64-bit hash locates the slot, and then all bytes are compared.
///
/// A node takes the bytes of its state, 18 bytes for its path, and 11 to 16 bytes in the index.
/// When the table grows, only the index (about a sixth of the memory) is copied.
///
/// Not thread-safe: calls of const methods may overlap with each other, but not with other calls.
class NodeTable {
 public:
  struct Node {
    double cost;                ///< cost of the cheapest path found so far
    float estimate;             ///< estimated cost-to-go
    std::uint32_t parent : 31;  ///< previous node on that path
    std::uint32_t flag : 1;     ///< for the search: BestFirstTree::IsClosed, IsFresh
  };

  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 31;

  explicit NodeTable(std::size_t state_size);

  std::size_t size() const { return size_; }

  /// Forgets all nodes, but keeps the memory for the next ones.
  void Clear();

  /// The memory in use, in bytes.
  std::size_t bytes() const;

  /// An upper bound on the memory, in bytes, for `nodes` nodes.
  static std::size_t BytesFor(std::size_t nodes, std::size_t state_size);

  /// The node of `state`, or kNone. `hash` is HashState(state).
  std::uint32_t Find(std::span<const std::uint8_t> state, std::uint64_t hash) const;

  /// Adds a state as node size(). Requires that the state is not in the table. Throws Error if the
  /// table already holds kMostNodes nodes.
  void Add(std::span<const std::uint8_t> state, std::uint64_t hash, Node node, Action action);

  /// Replaces the path to `node` by a cheaper one, through `parent` by `action`.
  void SetPath(std::uint32_t node, double cost, std::uint32_t parent, Action action) {
    constexpr std::uint32_t kParentBits = kMostNodes - 1;
    (*this)[node].cost = cost;
    (*this)[node].parent = parent & kParentBits;
    this->action(node) = action;
  }

  /// Prefetches the index slot that Find and Add will read. Call it a few states ahead.
  void Prefetch(std::uint64_t hash) const { __builtin_prefetch(&index_[Home(Tag(hash))]); }

  std::span<const std::uint8_t> state(std::uint32_t node) const {
    return {&blocks_[node / kNodesPerBlock]->states[node % kNodesPerBlock * state_size_],
            state_size_};
  }
  Node& operator[](std::uint32_t node) {
    return blocks_[node / kNodesPerBlock]->nodes[node % kNodesPerBlock];
  }
  const Node& operator[](std::uint32_t node) const {
    return blocks_[node / kNodesPerBlock]->nodes[node % kNodesPerBlock];
  }
  /// The last action of the cheapest path found so far.
  Action& action(std::uint32_t node) {
    return blocks_[node / kNodesPerBlock]->actions[node % kNodesPerBlock];
  }
  Action action(std::uint32_t node) const {
    return blocks_[node / kNodesPerBlock]->actions[node % kNodesPerBlock];
  }

 private:
  static constexpr std::uint32_t kNodesPerBlock = 256;

  // Not initialised, because every row is written before it is read.
  struct Block {                             // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::unique_ptr<std::uint8_t[]> states;  // NOLINT(modernize-avoid-c-arrays): sized at run time
    std::array<Node, kNodesPerBlock> nodes;
    std::array<Action, kNodesPerBlock> actions;
  };

  // The index uses open addressing with linear probing. A tag is the upper half of a state's hash.
  // It has two uses: most mismatches are rejected without reading the state's bytes, and a slot's
  // new position is known when the index grows, so that growing never reads states.
  struct Slot {
    std::uint32_t tag;
    std::uint32_t node;
  };

  static std::uint32_t Tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  // Slots are ordered by tag, so growing the index reads and writes memory sequentially.
  std::size_t Home(std::uint32_t tag) const { return (tag * index_.size()) >> 32; }
  std::size_t Next(std::size_t slot) const { return slot + 1 == index_.size() ? 0 : slot + 1; }

  void Put(Slot slot);
  void GrowIndex();

  std::size_t state_size_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Slot> index_;
};

}  // namespace tandem
