// Finds out where the two beams of a bidirectional beam search meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/beam_paths.h"
#include "search/cost_bound.h"
#include "search/inverse_frame.h"
#include "search/meeting.h"
#include "tandem/domain.h"

namespace tandem {

/// BeamMeeting follows the positions of two beams that share a frontier, one from a position and
/// one from its inverse, and finds the solutions where they meet. The moves of a path in the first
/// beam lead from the start to a position. The moves of a path in the second beam lead from the
/// goal to one (BeamSearch). If the two positions are equal, the first path and the way back of the
/// second one are a solution.
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
  void Advance(const BeamPaths& paths, std::span<const float> costs,
               std::span<const std::uint8_t> of_inverse);

  /// The cheapest solution by which the beams meet. Nothing if they have not met, or if `bound`
  /// excludes it.
  std::optional<std::vector<Action>> CheapestSolution(const BeamPaths& paths,
                                                      const CostBound& bound);

  /// The memory of the positions, in bytes, once up to `more` others are added.
  std::size_t BytesWith(std::size_t more) const {
    return meeting_.BytesWith(more) + positions_.size() + more * start_.size();
  }

 private:
  void AddPositions(std::size_t depth, std::span<const float> costs,
                    std::span<const std::uint8_t> of_inverse);

  const Domain& domain_;
  const InverseFrame& inverse_;
  std::vector<std::uint8_t> start_;
  std::vector<std::uint8_t> positions_;  // of the frontier
  Meeting meeting_;
};

}  // namespace tandem
