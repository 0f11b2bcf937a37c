// Examples from the solutions that the network itself finds.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "domain/random_walks.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// OwnSolutionsGenerator labels states with what solutions say about them (PathLabels): those
/// that the target network finds, and the ways back of random walks where it finds none. Learning
/// from one's own searches is expert iteration (Anthony, Tian and Barber, "Thinking Fast and Slow
/// with Deep Learning and Tree Search", NeurIPS 2017), and DeepXube's up_rl_p for a policy. The
/// walks give every fill labels while the network solves nothing, and no label costs more than the
/// walk.
///
/// An instance is a walk of generate.max_scramble actions. A search (generate.search) starts from a
/// state of the walk that is drawn uniformly, and looks for a solution that costs at most the
/// walk's way back from there. It follows the network without chance, as searches that solve do.
///
/// Global row r is a state of instance r / max_scramble. If the instance has a solution of n
/// actions, its row i < n is the state with i + 1 actions of the solution left. The other rows are
/// the prefixes of i + 1 actions of the walk, labelled with its way back. Steps that leave the
/// state as it is do not count, and a walk that meets a goal again starts there again. So a walk
/// may be shorter; its last state then fills the rest.
///
/// Walks take distinct actions if all actions commute and undo themselves (WalkKindOfActions).
class OwnSolutionsGenerator final : public Generator {
 public:
  /// `domain` and `network` must outlive this. See MakeGenerator for `config`, whose
  /// generate.search must be greedy or beam. Throws the same errors as WalkKindOfActions.
  OwnSolutionsGenerator(const Domain& domain, Evaluator& network, const Config& config);

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

  /// A search counts as solved if its solution costs at most the walk's way back.
  std::optional<double> searches_solved() const override { return solved_.MeanShare(); }

 private:
  struct Instance {
    std::int64_t number = 0;
    std::vector<std::uint8_t> states;  // of the walk, from the goal on
    std::vector<Action> way_back;      // from the last of the states to the goal
    std::size_t start = 0;             // number of actions of the walk before the search
    std::vector<Action> solution;      // from the start; empty if none was found
  };

  void Walk(const FillRequest& request, std::span<Instance> instances) const;
  void DrawStart(const FillRequest& request, Instance& instance) const;
  void KeepPartsFromLastGoal(std::span<Instance> instances) const;
  void Solve(std::span<Instance> instances, std::int64_t first_row, const StopSignal& stop);
  void Write(const FillRequest& request, std::span<const Instance> instances,
             DataBuffer& out) const;
  void ReplaySolutions(std::span<const Instance> instances, const auto& visit) const;
  std::size_t StateSize() const { return static_cast<std::size_t>(domain_.spec().state_size); }
  std::span<const std::uint8_t> State(const Instance& instance, std::size_t taken) const;
  static std::span<const Action> WayBack(const Instance& instance, std::size_t taken);

  const Domain& domain_;
  const PathLabels labels_;
  const WalkKind kind_;
  const std::int64_t walk_length_;
  const std::int64_t at_once_;  // instances
  const std::uint64_t seed_;
  const Schema schema_;
  const std::unique_ptr<Search> search_;
  tbb::task_arena arena_;
  std::vector<Instance> instances_;  // those that are searched together
  SolvedByLength solved_;            // by the number of actions before the search
};

}  // namespace tandem
