// Bellman backups: states, their children, and the targets that the estimates of the children give.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <oneapi/tbb/task_arena.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/examples.h"
#include "generate/labels.h"
#include "generate/pipelined_loop.h"
#include "generate/row_ranges.h"
#include "search/expander.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// The estimates of states that one search has expanded, by KeyOf(state).
using KnownEstimates = absl::flat_hash_map<std::string, float>;

/// StateBatch holds a batch of states together with their children and the network's estimates of
/// the children. Backups and the searches of generators both work on it. For each batch, call
/// Resize; then, on any threads, set the states and call Expand for each range of them; then
/// Evaluate. So two batches can take turns: one is expanded and encoded while the network evaluates
/// the other. Memory is reused for the next batch.
///
/// If the network's estimates do not depend on what else it evaluates, goals, repeats of other
/// children of the batch and children whose estimates are known are not evaluated. The estimates of
/// the other children keep their bits. The estimate of a goal is then 0.
struct StateBatch {
  /// Whether a batch has the children of all actions, or one child per state, by `actions`.
  enum class Children { kAll, kOne };

  /// `domain` and `network` must outlive this. `ball` may be null. Throws Error if the network does
  /// not estimate states.
  StateBatch(const Domain& domain, Evaluator& network,
             std::shared_ptr<const GoalBall> ball = nullptr, Children which = Children::kAll);

  std::size_t size() const { return is_goal.size(); }
  Rows rows() {
    return {states.data(), size(), static_cast<std::size_t>(domain.spec().state_size)};
  }
  ConstRows rows() const {
    return {states.data(), size(), static_cast<std::size_t>(domain.spec().state_size)};
  }
  bool has_one_child() const { return which_ == Children::kOne; }

  /// Makes room for `size` states and their children.
  void Resize(std::size_t size);

  /// Fills in is_goal and children for `count` states from index `first` on, whose bytes must be
  /// set, and encodes the children. Several threads may call this at once for different states.
  void Expand(std::size_t first, std::size_t count);

  /// Adds states first to first + count - 1 whose estimates are known to `known`, and then takes
  /// the estimates of those of their children that are in `known`, if that saves an evaluation. The
  /// states must have been expanded. Several threads may call this at once for different states
  /// with different `known`.
  void ReuseEstimates(std::size_t first, std::size_t count, KnownEstimates& known);

  /// Evaluates the children in one call of the network, on the calling thread, and fills in
  /// child_estimates. The network may block, so do not call this inside a TBB task. Throws Error
  /// that names the state if an estimate is NaN, and whatever the network throws.
  void Evaluate();

  /// The cost-to-go of a child: the exact one if it is known, else what its estimate stands for.
  float CostToGo(std::size_t child) const {
    return children.CostToGo(child, child_estimates[child]);
  }

  // The users of a batch fill in its data, so these members are public.
  // NOLINTBEGIN(misc-non-private-member-variables-in-classes)
  const Domain& domain;
  std::vector<std::uint8_t> states;  ///< the bytes of all states
  std::vector<Action> actions;       ///< of the only children; set before Expand
  std::vector<std::uint8_t> is_goal;
  /// Upper bound on the cost-to-go of each state, for BellmanTargets: the cost of undoing the path
  /// from a goal to the state. Infinite if that path has an action that cannot be undone, or if the
  /// target is not capped.
  std::vector<float> bounds;
  /// The network's estimates of the states, as far as they were evaluated as children before; else
  /// NaN. A StateSearch sets those of its states.
  std::vector<float> estimates;
  Expander children;
  std::vector<float> child_estimates;
  // NOLINTEND(misc-non-private-member-variables-in-classes)

 private:
  void FindNeeded();
  Rows InputsOf(std::size_t first, std::size_t count);

  Evaluator& network_;
  const Children which_;
  const bool skips_known_;
  std::vector<std::uint8_t> inputs_;  // the encoded children

  // If known children are skipped. A needed child is evaluated, unless it is a repeat.
  std::vector<std::uint8_t> is_needed_;
  std::vector<std::uint32_t> evaluated_;  // children, without repeats
  std::vector<std::uint32_t> place_;      // where in evaluated_ the estimate of a needed child is
  absl::flat_hash_map<std::uint64_t, std::uint32_t> place_of_;  // by hash
  std::vector<std::uint8_t> evaluated_inputs_;
  std::vector<float> evaluated_values_;
};

/// StateBackup holds the numbers from which the label of a state follows. Infinity stands for a
/// number that is not known.
struct StateBackup {
  float known = 0;                       ///< exact cost-to-go
  float bound = 0;                       ///< upper bound on the cost-to-go (StateBatch::bounds)
  std::vector<float> actions;            ///< the backup of each action
  std::vector<std::uint8_t> has_effect;  ///< by action: 0 if it leaves the state unchanged, else 1
  std::optional<Action> only;            ///< the only action that was backed up; nothing: all were
};

/// BellmanTargets computes the targets of states by Bellman backups (Agostinelli et al., "Solving
/// the Rubik's cube with deep reinforcement learning and search", Nature Machine Intelligence
/// 2019). The target of a state is the minimum over all actions of the action's cost plus the
/// network's estimate of the child. The target of a goal is 0, the estimate of a child that is a
/// goal is 0, and negative estimates count as 0.
///
/// For a Q net the target has one backup per action instead of their minimum: Q-learning for all
/// actions of a state at once. If the batch has one child per state, the others have weight 0. For
/// head vp it is the minimum and, as the policy, the action with the least backup among those that
/// change the state: the greedy policy of the estimates. If several have the least, it is the first
/// of them; if no action changes the state, all probabilities are 0. For head q_in it is the backup
/// of the action in the row's input, which must be written before the target.
///
/// A target is at most the state's bound (StateBatch::bounds), which is finite with
/// capped_value_iteration and in rows that hindsight changed. The bound needs no network. It makes
/// targets at least as accurate as walk lengths from the start, and keeps a network that
/// overestimates from pushing its own targets up further. For a Q net the cap of an action is the
/// sum of its cost, the cost of undoing it, and the state's bound.
///
/// With generate.ball_radius, children in the ball around the goal are backed up with their exact
/// costs, and estimates of other children are at least the least cost outside the ball. ExactLabels
/// then replace the targets of states in the ball.
class BellmanTargets {
 public:
  /// `domain` must outlive this.
  BellmanTargets(const Domain& domain, Head head) : domain_(domain), head_(head) {}

  /// Computes the numbers behind the target of state i of `batch`, whose children must have
  /// estimates. Thread-safe.
  void BackUp(const StateBatch& batch, std::size_t i, StateBackup& backup) const;

  /// Writes the target that follows from `backup` to row `row` of `examples` (ExampleSchema). If
  /// rows have weights, they are 1, or 0 for actions that were not backed up. Thread-safe.
  void Write(const StateBackup& backup, DataBuffer& examples, std::size_t row) const;

 private:
  const Domain& domain_;
  const Head head_;
};

/// StoredStateLabeller labels the states that a generator of sync_main made, which the generator
/// stores without labels. The labels are their BellmanTargets, and ExactLabels in the ball.
class StoredStateLabeller {
 public:
  /// Follows config.generate and config.network.head; generate.workers must be a number. `domain`
  /// and `target_network` must outlive this. `exact` may be null.
  StoredStateLabeller(const Domain& domain, Evaluator& target_network, const Config& config,
                      std::shared_ptr<const ExactLabels> exact = nullptr);

  /// The columns of the examples that Start writes.
  Schema example_schema() const { return ExampleSchema(domain_.spec(), head_); }

  /// Starts to label stored states, for update `update`, with the target network's current weights:
  /// each Step of the result labels the next generate.chunk_rows rows. Row i of `states`
  /// (StateSchema) becomes row i of `examples` (ExampleSchema). While the network evaluates the
  /// children of some rows, the workers back up the rows before and expand the next ones. The rows
  /// of `examples` are complete once the Step that labels the last of them has returned.
  ///
  /// The arguments and this must outlive the result. Only one result at a time may exist.
  ///
  ///   PipelinedLoop labelling = labeller.Start(update, states, examples, stop);
  ///   while (labelling.Step()) queue.Serve();
  PipelinedLoop Start(std::int64_t update, const DataBuffer& states, DataBuffer& examples,
                      const StopSignal& stop);

 private:
  void Expand(std::int64_t update, const DataBuffer& states, RowRange range, DataBuffer& examples,
              StateBatch& batch);
  void WriteTargets(const StateBatch& batch, RowRange range, DataBuffer& examples) const;

  const Domain& domain_;
  const Head head_;
  const std::uint64_t seed_;
  const std::int64_t chunk_rows_;
  tbb::task_arena arena_;
  std::array<StateBatch, 2> batches_;  // turn i uses element i % 2
  const BellmanTargets targets_;
  const std::shared_ptr<const ExactLabels> exact_;  // may be null
};

}  // namespace tandem
