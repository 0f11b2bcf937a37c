// Bellman backups: states, their children, and what the network says of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/train_config.h"
#include "search/children.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// A batch of states on their way to their labels. Memory is kept for the next batch.
struct Expanded {
  explicit Expanded(const Domain& domain) : children(domain) {}

  std::size_t size() const { return is_goal.size(); }
  Rows rows() { return {states.data(), size(), size() > 0 ? states.size() / size() : 0}; }
  ConstRows rows() const {
    return {states.data(), size(), size() > 0 ? states.size() / size() : 0};
  }

  // Of each state.
  std::vector<std::uint8_t> states;
  std::vector<std::uint8_t> is_goal;
  std::vector<float>
      bounds;  ///< no cost-to-go is more: what the way back to a goal costs, infinite
               ///< where an action on the way that led here cannot be undone

  // Of each child, by the numbers that `children` gives them.
  Children children;
  std::vector<std::uint8_t> child_inputs;
  std::vector<float> child_values;  ///< the network's estimates
};

/// Makes and estimates the children of states: all that a backup needs, and what steers a search.
class Lookahead {
 public:
  /// Both must outlive this.
  Lookahead(const Domain& domain, Evaluator& network) : domain_(domain), network_(network) {}

  /// The memory of a batch of so many.
  static std::int64_t BytesFor(const DomainSpec& spec, std::int64_t states);

  /// Makes room for so many states.
  void Resize(Expanded& batch, std::size_t states) const;

  /// For states first, first + 1, ..., whose bytes are there: whether they are goals, their
  /// children and what the network reads of these. Several threads may do so for different states.
  void Expand(Expanded& batch, std::size_t first, std::size_t count) const;

  /// Asks the network about all children at once. As Evaluator::Evaluate; throws Error that names
  /// the state if an estimate is not a number.
  void Evaluate(Expanded& batch) const;

 private:
  const Domain& domain_;
  Evaluator& network_;
};

/// Labels states with their Bellman backups, the least over all actions of the action's cost plus
/// the network's estimate for the child; goals, and children that are goals, count 0 and no
/// estimate counts less (Agostinelli et al., "Solving the Rubik's cube with deep reinforcement
/// learning and search", Nature Machine Intelligence 2019).
///
/// For a Q net each action keeps its own backup instead of the least: Q-learning with all actions
/// of a state at once.
///
/// The way back to the goal that a state came from, where every action can be undone, is a bound of
/// its cost-to-go from above that needs no network. Labels that are capped by it begin at least as
/// near the truth as walk lengths, and a network that estimates too much cannot drive itself
/// further up. A Q net's labels are capped by the action, the way back, and the bound.
class BellmanLabels {
 public:
  /// `spec` must outlive this.
  BellmanLabels(const DomainSpec& spec, Head head, bool capped)
      : spec_(spec), head_(head), capped_(capped) {}

  /// Writes the label of state i of a batch that was evaluated: TargetWidth floats.
  void Write(const Expanded& batch, std::size_t i, std::span<float> label) const;

 private:
  const DomainSpec& spec_;
  const Head head_;
  const bool capped_;
};

}  // namespace tandem
