// The paths of a beam search, and where two beams meet.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/costs.h"
#include "search/inverse_frame.h"
#include "tandem/domain.h"

namespace tandem {

/// BeamPaths holds the paths to all states that a beam search has kept, as the last step of each. A
/// path begins at a state of depth 0. Such a state has no step, so nothing is stored for it.
class BeamPaths {
 public:
  /// The last step of a path: `action` in state `parent` of those kept one depth before.
  struct Step {
    std::uint32_t parent;
    Action action;
  };

  /// The last step of the path to child `child`, as Expander numbers the children of the states
  /// kept last. Divides 32-bit numbers, which takes half the time of dividing 64-bit ones.
  static Step StepTo(std::size_t child, int num_actions) {
    const auto index = static_cast<std::uint32_t>(child);
    const auto actions = static_cast<std::uint32_t>(num_actions);
    return {.parent = index / actions, .action = static_cast<Action>(index % actions)};
  }

  void Clear() { steps_.clear(); }

  /// Adds the states that were kept at the next depth.
  void Add(std::vector<Step> steps) { steps_.push_back(std::move(steps)); }

  /// The depth of the states that were added last, 0 if there are none.
  std::size_t depth() const { return steps_.size(); }

  /// The last steps of the paths to the states of the current depth. Empty at depth 0.
  std::span<const Step> last_steps() const;

  /// The actions of the path that ends with `step`, from a state that was kept at `depth`.
  std::vector<Action> PathBy(Step step, std::size_t depth) const;

  /// The actions of the path to state `index` of those kept at `depth`.
  std::vector<Action> PathTo(std::size_t index, std::size_t depth) const;

 private:
  std::vector<std::vector<Step>> steps_;  // steps_[d] belongs to depth d + 1
};

/// BeamMeeting follows the positions of two beams that share a frontier, one from a position and
/// one from its inverse, and finds the cheapest solution where they meet. The moves of a path in
/// the first beam lead from the start to a position, and in the second beam from the goal to one
/// (BeamSearch). If the two positions are equal, the first path and the way back of the second one
/// are a solution. Positions are compared by 64-bit hashes, and a replay shows whether they are
/// equal.
class BeamMeeting {
 public:
  /// `domain` and `inverse` must outlive this.
  BeamMeeting(const Domain& domain, const InverseFrame& inverse);

  /// Forgets all positions.
  void Clear();

  /// Begins with `start` and its inverse. Ignores solutions of more than `max_length` actions.
  void Begin(std::span<const std::uint8_t> start, std::int64_t max_length);

  /// Adds the positions of the states that were added to `paths` last. costs[i] is the cost of the
  /// path to state i, and of_inverse[i] is 1 if it begins at the inverse of the start.
  void Advance(const BeamPaths& paths, std::span<const double> costs,
               std::span<const std::uint8_t> of_inverse);

  /// The cheapest solution by which the beams meet; ties go to the one that was found first.
  /// Nothing if they have not met, or if `bound` excludes it.
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
