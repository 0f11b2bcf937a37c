#include "search/node_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

NodeTable::NodeTable(std::size_t state_size)
    : state_size_(state_size), index_(kFirstSlots, Slot{.tag = 0, .node = kNone}) {}

std::size_t NodeTable::bytes() const {
  return blocks_.size() * (sizeof(Block) + sizeof(blocks_.front()) + kNodesPerBlock * state_size_) +
         index_.size() * sizeof(Slot);
}

std::size_t NodeTable::BytesFor(std::size_t nodes, std::size_t state_size) {
  const std::size_t blocks = (nodes + kNodesPerBlock - 1) / kNodesPerBlock;
  // GrowIndex leaves at least half of the slots in use.
  const std::size_t slots = std::max(kFirstSlots, 2 * nodes);
  return blocks * (sizeof(Block) + sizeof(std::unique_ptr<Block>) + kNodesPerBlock * state_size) +
         slots * sizeof(Slot);
}

std::uint32_t NodeTable::Find(std::span<const std::uint8_t> state, std::uint64_t hash) const {
  const std::uint32_t tag = Tag(hash);
  for (std::size_t at = Home(tag); index_[at].node != kNone; at = Next(at)) {
    const Slot slot = index_[at];
    if (slot.tag == tag &&
        std::memcmp(this->state(slot.node).data(), state.data(), state_size_) == 0) {
      return slot.node;
    }
  }
  return kNone;
}

void NodeTable::Add(std::span<const std::uint8_t> state, std::uint64_t hash, Node node,
                    Action action) {
  if (size_ == kMostNodes) {
    throw Error(
        fmt::format("one puzzle's search holds {} states, the most that it can store; "
                    "set a limit with search.max_nodes",
                    kMostNodes));
  }
  if (size_ == blocks_.size() * kNodesPerBlock) {
    std::unique_ptr<Block> block(new Block);
    block->states.reset(new std::uint8_t[kNodesPerBlock * state_size_]);
    blocks_.push_back(std::move(block));
  }
  if ((size_ + 1) * 4 > index_.size() * 3) GrowIndex();
  const auto number = static_cast<std::uint32_t>(size_);
  Block& block = *blocks_[number / kNodesPerBlock];
  std::ranges::copy(state, &block.states[number % kNodesPerBlock * state_size_]);
  block.nodes[number % kNodesPerBlock] = node;
  block.actions[number % kNodesPerBlock] = action;
  Put({.tag = Tag(hash), .node = number});
  ++size_;
}

void NodeTable::Clear() {
  size_ = 0;
  std::ranges::fill(index_, Slot{.tag = 0, .node = kNone});
}

void NodeTable::Put(Slot slot) {
  std::size_t at = Home(slot.tag);
  while (index_[at].node != kNone) at = Next(at);
  index_[at] = slot;
}

// Grows the index by half, so that between a half and three quarters of its slots are in use.
void NodeTable::GrowIndex() {
  std::vector<Slot> old(index_.size() + index_.size() / 2, Slot{.tag = 0, .node = kNone});
  old.swap(index_);
  for (const Slot slot : old) {
    if (slot.node != kNone) Put(slot);
  }
}

}  // namespace tandem
