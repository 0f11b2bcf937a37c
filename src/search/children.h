// The expanded children of a batch of states, for searches and generators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// The 64-bit hash (XXH3) by which searches look up states.
std::uint64_t HashState(std::span<const std::uint8_t> state);

/// Children holds the children of a batch of states and what is known about each of them. Its
/// memory is reused for the next batch.
///
/// In every array, element i * num_actions + a is the result of applying action a to state i.
class Children {
 public:
  /// `domain` must outlive this.
  explicit Children(const Domain& domain) : domain_(domain) {}

  /// The memory, in bytes, for the children of `states` states.
  static std::int64_t BytesFor(const DomainSpec& spec, std::int64_t states);

  /// Makes room for the children of `states` states.
  void Resize(std::size_t states);

  /// Makes the children of `states`, which are states first, first + 1, ... of the batch. `states`
  /// must not lie in rows(). Several threads may call this at once for different states.
  void Expand(ConstRows states, std::size_t first);

  std::size_t size() const { return is_goal_.size(); }
  ConstRows rows() const;
  std::span<const std::uint8_t> is_goal() const { return is_goal_; }

  /// 1 where the child equals its parent, for example because the action does not apply. Such a
  /// child is never worth keeping.
  std::span<const std::uint8_t> unchanged() const { return unchanged_; }

  /// HashState of each child; unspecified where unchanged() is 1.
  std::span<const std::uint64_t> hashes() const { return hashes_; }

 private:
  const Domain& domain_;
  std::vector<std::uint8_t> rows_;
  std::vector<std::uint8_t> is_goal_;
  std::vector<std::uint8_t> unchanged_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace tandem
