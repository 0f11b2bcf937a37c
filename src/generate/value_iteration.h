// Examples by approximate value iteration, on scrambled states or on states met by searches.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "config/config.h"
#include "generate/bellman.h"
#include "generate/generator.h"
#include "generate/row_ranges.h"
#include "generate/search_tree.h"
#include "generate/state_search.h"
#include "tandem/evaluator.h"

namespace tandem {

/// ValueIterationGenerator labels states with their Bellman backups (BellmanTargets). Without a
/// search, the states are ends of random walks. With one, they also include the states that the
/// search visits from there. One evaluation of a state's children both labels the state and guides
/// the search.
///
/// With target q_learning, it labels one action of each state, as Q-learning does (Watkins, 1989;
/// with a target network as in DQN, Mnih et al., 2015). A row thus takes one evaluation. Value
/// iteration labels all actions of a state and takes one for each, so with Q-learning an evaluation
/// more often meets a new state, and with value iteration a training step uses more labels. The
/// action is uniform among all actions (DrawAction), also those that lead back and those that do
/// not apply: the least value of a state is taken over all of them, so none may stay unlabelled.
/// The child of an action that does not apply is its parent, and its cost makes it worse than the
/// best action.
///
/// A step of an instance has GenerateConfig::states_per_step rows, W for short. Global row r is
/// state (r mod W) of step (r / W mod search_iterations) of instance r / W / search_iterations. If
/// an instance has expanded a goal or a neighbour of a goal, or has no state left to expand, the
/// first row of its next step is a new scramble and a new search starts there. If a beam has fewer
/// than W states, the remaining rows of the step are scrambles that take no part in the search.
/// Without a search every row is a new scramble. All random numbers of a row are keyed by the row's
/// number.
///
/// searches_solved() counts the first search of each instance, and as solved if it has reached a
/// goal or the ball around it. Searches that start later have fewer steps left, and counting them
/// only if they reach a goal would favour short scrambles.
///
/// With generate.backup lhbl or ubsoln, the rows of a search are labelled when it has ended
/// (SearchTree).
///
/// With generate.hindsight, a search that ended without a goal gets a goal that it did reach
/// (Hindsight). Only rows on the path there change, except that all rows of a state that a search
/// expanded more than once have the least of its bounds (SearchTree). For a Q net, these rows label
/// the action of the path alone, so all rows have weights. For head q_in, whose rows label one
/// action each, it is the action of the path.
///
/// If the network's estimates do not depend on what else is evaluated (StateBatch), no child that
/// the search has expanded before is evaluated again. The labels are the same.
///
/// An anchor (ExactLabels) takes the place of its row when the row is written, so the searches do
/// not see it.
///
/// Instances are processed in ranges of up to generate.chunk_rows. The instances of a range advance
/// in lock step, with one evaluation per step. Meanwhile the workers label, advance and expand
/// another range (see PipelinedLoop).
class ValueIterationGenerator final : public Generator {
 public:
  /// `domain` and `network` must outlive this. See MakeGenerator for `config`. `exact` may be null.
  /// Throws InputError if generate.hindsight is true and the domain cannot move its goals.
  ValueIterationGenerator(const Domain& domain, Evaluator& network, const Config& config,
                          std::shared_ptr<const ExactLabels> exact = nullptr);

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;
  std::optional<double> searches_solved() const override { return solved_.MeanShare(); }

 private:
  // The first search of an instance, which alone may take all steps of the instance.
  struct FirstSearch {
    std::int64_t length = 0;  // of its scramble
    bool runs = false;        // whether it is the current search
    bool solved = false;      // whether it had found a way to a goal before the current step
  };

  // One instance of a range.
  struct Instance {
    std::unique_ptr<StateSearch> search;  // null without a search
    std::size_t searched = 0;  // states of the current step that belong to the search: the first
    FirstSearch first;
    SearchTree tree;           // empty unless SearchTree::IsNeeded
    KnownEstimates estimates;  // of the current search
  };

  // The instances of one range, which advance in lock step.
  struct Group {
    StateBatch batch;     // the states of instance i are width_ * i to width_ * i + width_ - 1
    RowRange range = {};  // of the instances, counted from 0 in each fill
    std::int64_t step = 0;
    std::vector<Instance> instances = {};
  };

  struct CurrentFill;

  void Expand(const CurrentFill& fill, Group& group) const;
  void Advance(const CurrentFill& fill, Group& group, std::size_t first, std::size_t count) const;
  void ContinueSearch(const CurrentFill& fill, Group& group, std::size_t instance) const;
  void BeginSearch(Group& group, std::size_t instance, std::int64_t length) const;
  bool Reached(const Group& group, std::size_t instance, bool or_ball) const;
  Action ActionOf(const CurrentFill& fill, const Group& group, std::size_t i) const;
  std::vector<std::int64_t> WriteScrambles(const CurrentFill& fill, Group& group,
                                           std::span<const std::size_t> chosen) const;
  void CountSearches(const CurrentFill& fill, const Group& group);
  Group MakeGroup(Evaluator& network) const;
  std::optional<std::size_t> Anchor(const CurrentFill& fill, const Group& group,
                                    std::size_t i) const;
  void WriteStates(const CurrentFill& fill, Group& group, std::size_t first,
                   std::size_t count) const;
  void WriteTargets(const CurrentFill& fill, Group& group) const;
  void WriteTargetsOf(const CurrentFill& fill, Group& group, std::size_t instance,
                      StateBackup& backup) const;
  void EndSearch(const CurrentFill& fill, SearchTree& tree) const;

  const Domain& domain_;
  const GenerateConfig config_;
  const std::uint64_t seed_;
  const Head head_;
  const std::size_t width_;  // states per step
  const std::size_t instances_per_task_;
  const bool keeps_trees_;
  const std::optional<Hindsight> hindsight_;
  const bool labelled_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;
  const BellmanTargets targets_;
  tbb::task_arena arena_;
  std::array<Group, 2> groups_;  // turn i uses element i % 2
  SolvedByLength solved_;        // of the last fill
};

}  // namespace tandem
