// What the simulator makes of many states, for searches and for generators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// The 64 bits by which searches look states up.
std::uint64_t HashState(std::span<const std::uint8_t> state);

/// The children of a batch of states. Memory is kept for the next batch.
///
/// Child i * num_actions + a is action a applied to state i, and so in all that is told of them.
class Children {
 public:
  /// `domain` must outlive this.
  explicit Children(const Domain& domain) : domain_(domain) {}

  /// The memory of the children of so many states.
  static std::int64_t BytesFor(const DomainSpec& spec, std::int64_t states);

  /// Makes room for the children of so many states.
  void Resize(std::size_t states);

  /// Makes the children of `states`, which are numbers first, first + 1, ... of the batch, and no
  /// children of it. Several threads may do so at a time, for different states.
  void Expand(ConstRows states, std::size_t first);

  std::size_t size() const { return is_goal_.size(); }
  ConstRows rows() const;
  std::span<const std::uint8_t> is_goal() const { return is_goal_; }

  /// 1 where the child equals its parent, as where an action does not apply: never worth keeping.
  std::span<const std::uint8_t> unchanged() const { return unchanged_; }

  /// HashState of each child that is not `unchanged`; what stands for the others means nothing.
  std::span<const std::uint64_t> hashes() const { return hashes_; }

 private:
  const Domain& domain_;
  std::vector<std::uint8_t> rows_;
  std::vector<std::uint8_t> is_goal_;
  std::vector<std::uint8_t> unchanged_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace tandem
