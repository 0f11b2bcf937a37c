// Finds out where the two beams of a bidirectional beam search meet.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/beam_ranking.h"
#include "search/costs.h"
#include "search/inverse_frame.h"
#include "tandem/domain.h"

namespace tandem {

/// BeamMeeting follows the positions of two beams that share a frontier, one from a position and
/// one from its inverse, and finds the cheapest solution where they meet. The moves of a path in
/// the first beam lead from the start to a position. The moves of a path in the second beam lead
/// from the goal to one (BeamSearch). If the two positions are equal, the first path and the way
/// back of the second one are a solution. Positions are compared by 64-bit hashes, and a replay
/// shows whether they are equal.
class BeamMeeting {
 public:
  /// `domain` and `inverse` must outlive this.
  BeamMeeting(const Domain& domain, const InverseFrame& inverse);

  /// Forgets all positions.
  void Clear();

  /// Begins with a frontier of two states: `start` and its inverse. Ignores solutions of more than
  /// `max_length` actions.
  void Begin(std::span<const std::uint8_t> start, std::int64_t max_length);

  /// Adds the positions of a new frontier: the states that were added to `paths` last. costs[i] is
  /// the cost of the path to state i, and of_inverse[i] is 1 if it begins at the inverse of the
  /// start.
  void Advance(const BeamPaths& paths, std::span<const double> costs,
               std::span<const std::uint8_t> of_inverse);

  /// The cheapest solution by which the beams meet. Nothing if they have not met, or if `bound`
  /// excludes it. Ties go to the one that was found first.
  std::optional<std::vector<Action>> CheapestSolution(const BeamPaths& paths,
                                                      const CostBound& bound);

  /// The memory of the positions, in bytes, once up to `more` others are added.
  std::size_t BytesWith(std::size_t more) const;

 private:
  // The end of a path: state `index` of those kept at `depth`, reached at `cost`.
  struct End {
    std::uint32_t depth;
    std::uint32_t index;
    double cost;
  };

  // A path of each beam to the position with this hash.
  struct Pair {
    End from_start;
    End from_goal;
    std::uint64_t hash;
    double cost() const { return from_start.cost + from_goal.cost; }
  };

  using Ends = absl::flat_hash_map<std::uint64_t, End>;  // by the hash of the position

  void AddPositions(std::size_t depth, std::span<const double> costs,
                    std::span<const std::uint8_t> of_inverse);
  void Add(std::uint64_t hash, bool from_goal, const End& end);
  void Offer(const Pair& pair);
  void DropCheapest();

  const Domain& domain_;
  const InverseFrame& inverse_;
  std::vector<std::uint8_t> start_;
  std::int64_t max_length_ = 0;
  std::vector<std::uint8_t> positions_;  // of the frontier
  Ends from_start_;                      // the cheapest path to each position
  Ends from_goal_;
  std::optional<Pair> cheapest_;  // of at most max_length_ actions
};

}  // namespace tandem
