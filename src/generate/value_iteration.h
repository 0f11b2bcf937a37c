// Targets by approximate value iteration.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <cstdint>
#include <vector>

#include "generate/chunks.h"
#include "generate/generator.h"
#include "tandem/evaluator.h"

namespace tandem {

struct ValueIterationOptions {
  Head head = Head::kV;
  bool capped = false;  ///< a label is at most the cost of the walk
  std::uint64_t seed = 0;
  std::int64_t max_scramble = 30;  ///< walks have a length uniform in 0..max_scramble
  std::int64_t chunk_rows = 4096;
  int workers = 1;
};

/// Labels each state with its Bellman backup, the least over all actions of the action's cost plus
/// the target network's estimate for the child; goals, and children that are goals, count 0 and no
/// estimate counts less (Agostinelli et al., "Solving the Rubik's cube with deep reinforcement
/// learning and search", Nature Machine Intelligence 2019).
///
/// For a Q net each action keeps its own backup instead of the least: Q-learning with all actions
/// of a state at once.
///
/// The walk to a state is a bound of its cost-to-go from above that needs no network. Labels that
/// are capped by it begin at least as near the truth as walk lengths, and a network that estimates
/// too much cannot drive itself further up. A Q net's labels are capped by the action, the way
/// back, and the walk.
///
/// Chunks go through in lock step: while the network evaluates one chunk's children, the workers
/// scramble and expand the next. One of the workers is the calling thread, which joins the others
/// when its evaluation is done; so with a single worker the two take turns.
class ValueIterationGenerator final : public Generator {
 public:
  /// `domain` and `target_network` must outlive this.
  ValueIterationGenerator(const Domain& domain, Evaluator& target_network,
                          ValueIterationOptions options);

  bool asks_network() const override { return true; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  // What is known of one chunk between its expansion and its backup.
  struct Expanded {
    std::vector<std::uint8_t> states, children, child_inputs, is_goal, child_is_goal;
    std::vector<float> child_values;
    std::vector<float> walk_costs;
  };

  void Expand(const FillRequest& request, Chunk chunk, DataBuffer& out, Expanded& into) const;
  void ScrambleAndExpand(const FillRequest& request, Chunk chunk, DataBuffer& out, Expanded& into,
                         std::size_t first, std::size_t count) const;
  void Evaluate(Expanded& chunk) const;
  void BackUp(const Expanded& expanded, Chunk chunk, DataBuffer& out) const;

  const Domain& domain_;
  Evaluator& target_network_;
  const ValueIterationOptions options_;
  tbb::task_arena arena_;
  std::array<Expanded, 2> expanded_;  // chunk i uses element i % 2
};

}  // namespace tandem
