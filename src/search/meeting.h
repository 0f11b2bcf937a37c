// Finds out where two searches meet.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace tandem {

/// Meeting holds the positions that a search from the start and a search from the goal have
/// reached, and the cheapest pair of paths that end in the same position. Positions are compared by
/// 64-bit hashes, so a path that a pair stands for must be replayed.
class Meeting {
 public:
  enum class Side : std::uint8_t { kStart, kGoal };

  /// The end of a path: state `index` of those kept at `depth`, reached at `cost`.
  struct End {
    std::uint32_t depth;
    std::uint32_t index;
    float cost;
  };

  /// Two paths that end in the same position.
  struct Pair {
    End from_start;
    End from_goal;
    std::uint64_t hash;  ///< of the position
    float cost() const { return from_start.cost + from_goal.cost; }
  };

  /// Forgets all paths. From now on, ignores pairs of more than `most_actions` actions.
  void Clear(std::int64_t most_actions = std::numeric_limits<std::int64_t>::max());

  /// Adds a path from `side` to the position whose hash is `hash`.
  void Add(Side side, std::uint64_t hash, End end);

  /// The cheapest pair, or nothing if the sides have not met. Ties go to the first pair.
  const std::optional<Pair>& cheapest() const { return cheapest_; }

  /// Forgets the position of the cheapest pair, whose two paths do not meet: their hashes collide.
  /// Requires that there is a pair.
  void DropCheapest();

  /// The memory of the positions, in bytes, once up to `more` others are added.
  std::size_t BytesWith(std::size_t more) const;

 private:
  void Offer(const Pair& pair);

  using Ends = absl::flat_hash_map<std::uint64_t, End>;

  std::array<Ends, 2> ends_;  // by side: the cheapest path to each position
  std::optional<Pair> cheapest_;
  std::int64_t most_actions_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace tandem
