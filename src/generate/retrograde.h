// Examples with exact labels, from searches backwards from the goals of random problems.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "data/examples.h"
#include "generate/generator.h"
#include "search/node_table.h"
#include "tandem/domain.h"

namespace tandem {

/// RetrogradeTable finds all states of a problem from which a goal can be reached, with their exact
/// costs-to-go, by breadth-first search backwards from all its goals (retrograde analysis, as for
/// the endgames of chess). All actions must cost the same. Not thread-safe.
class RetrogradeTable {
 public:
  /// `domain` must outlive this. Throws InputError if its actions cost differently, or if it does
  /// not know the predecessors of states.
  explicit RetrogradeTable(const Domain& domain);

  /// Finds the states of the problem of `goal`, a goal from Domain::DrawGoals, and forgets those
  /// before. Returns false if there are more than `most_states`; the table is then unspecified.
  /// Throws Error if Domain::AllGoals lacks a goal.
  bool Build(std::span<const std::uint8_t> goal, std::size_t most_states);

  std::size_t size() const { return nodes_.size(); }

  /// The greatest number of actions that a cheapest solution of a state takes.
  std::size_t longest() const { return ends_.size() - 1; }

  /// The number of the first state whose cheapest solutions take `actions` actions, at most
  /// longest() + 1. States are numbered in the order of their costs, so those that take as many
  /// end before First(actions + 1). There is at least one for each number up to longest().
  std::uint32_t First(std::size_t actions) const {
    return actions == 0 ? 0 : static_cast<std::uint32_t>(ends_[actions - 1]);
  }

  std::span<const std::uint8_t> state(std::uint32_t number) const { return nodes_.state(number); }

  /// Whether a goal can be reached from `state`, which is a state of the problem.
  bool Contains(std::span<const std::uint8_t> state) const;

 private:
  void AddNewOfPredecessors();
  void RejectGoals(std::size_t first);

  const Domain& domain_;
  std::size_t at_once_;                     // states whose predecessors are looked up together
  NodeTable nodes_;                         // in the order of their costs
  std::vector<std::size_t> ends_;           // the number of nodes that need at most n actions
  std::vector<std::uint8_t> states_;        // of some nodes
  std::vector<std::uint8_t> predecessors_;  // of states_
  std::vector<std::uint64_t> hashes_;       // of the predecessors
  std::vector<std::uint8_t> added_;         // the states of RejectGoals
  std::vector<std::uint8_t> is_goal_;       // of added_
};

/// RetrogradeGenerator draws states of random problems (Domain::DrawGoals) and labels them with
/// their exact costs-to-go, from a RetrogradeTable. It is for puzzles whose goals differ by problem
/// and whose problems are small, such as Sokoban.
///
/// generate.problem_rows consecutive rows belong to one problem. A row first draws the number of
/// actions that a solution takes, uniformly, and then one of the states that need as many. With
/// probability generate.dead_end_share, it goes on to a child from which no goal can be reached,
/// and a quarter of these rows go on with up to seven random actions. Their label is
/// generate.dead_end_cost. So the network learns which states a search should avoid, which walks
/// from the goal never show. If the state has no such child, the row draws again, a few times.
///
/// The rows are a function of the seed and of their numbers.
class RetrogradeGenerator final : public Generator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`, whose network.head must be v.
  /// Throws InputError if all problems of the domain have the same goal, or as RetrogradeTable
  /// does.
  RetrogradeGenerator(const Domain& domain, const Config& config);

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }

  /// Also throws InputError if no problem with at most 500,000 states is found.
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  void DrawProblem(Random random, RetrogradeTable& table, const StopSignal& stop) const;
  void DrawRows(const RetrogradeTable& table, std::span<Random> randoms, Rows states,
                std::span<float> labels) const;
  void StepIntoDeadEnds(const RetrogradeTable& table, std::span<Random> randoms, Rows states,
                        std::vector<std::size_t>& wanting,
                        std::vector<std::size_t>& dead_ends) const;
  void GoFurther(std::span<Random> randoms, Rows states,
                 std::span<const std::size_t> dead_ends) const;

  const Domain& domain_;
  const GenerateConfig config_;
  const std::uint64_t seed_;
  const Schema schema_;
  const float action_cost_;
  const bool has_dead_ends_;
  tbb::task_arena arena_;
  std::vector<RetrogradeTable> tables_;  // one per thread of the arena; problems reuse the memory
};

}  // namespace tandem
