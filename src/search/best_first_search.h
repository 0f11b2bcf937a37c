// Best-first search of many puzzles in lock step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/config.h"
#include "search/batch_evaluator.h"
#include "search/best_first_tree.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Ends `tree` with a known cheapest solution if its start is a goal or lies in `ball`, which may
/// be null, unless the solution costs more than `at_most` (0: no limit).
void SolveIfKnown(BestFirstTree& tree, const Domain& domain, const GoalBall* ball,
                  std::span<const std::uint8_t> start, float at_most);

/// BestFirstSearch is the part of A* and Q* that does not depend on what they expand.
class BestFirstSearch : public Search {
 public:
  std::string Describe() const override;
  std::string_view MainKey() const override { return "search.weight"; }
  std::string Failure(const SearchResult& result) const override;

 protected:
  /// `name` is used in texts: "A*". It must outlive this. Taking an open entry makes
  /// `children_of_entry` children. Throws Error if search.weight is negative, infinite or NaN, or
  /// if search.batch or search.instances is below 1, and InputError if a step makes more children
  /// than 32 bits can number.
  BestFirstSearch(const char* name, const SearchConfig& config, int children_of_entry);

  const SearchConfig& config() const { return config_; }

 private:
  const char* const name_;
  const SearchConfig config_;
};

/// Says how much memory the node limit of `config` takes, because memory grows with the nodes.
/// `bytes_for(nodes)` is an upper bound on the memory of `nodes` nodes.
std::string BestFirstMemory(const char* search, const SearchConfig& config,
                            std::size_t (*bytes_for)(std::size_t nodes, const DomainSpec& spec),
                            const DomainSpec& spec);

/// The search of one puzzle among several.
template <class Tree>
struct RunningTree {
  std::size_t number = 0;  // index of the puzzle
  std::unique_ptr<Tree> tree;
  std::size_t first_state = 0;  // of the tree, among the states of the current step
  std::size_t first_fresh = 0;  // of the tree, among the children that need estimates
};

/// LockStepSearch searches puzzles by trees of one type, search.instances at a time. In each step,
/// all trees pop entries, and the evaluations that they need are made together.
template <class Tree>
class LockStepSearch : public BestFirstSearch {
 public:
  /// Puzzles start in the order of `problems` and finish in any order. The time of a step is
  /// divided evenly among its trees.
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) final {
    std::vector<RunningTree<Tree>> running;
    LapTimer timer;
    for (std::size_t next = 0; next < problems.size() || !running.empty();) {
      const std::size_t old = running.size();
      for (; std::cmp_less(running.size(), config().instances) && next < problems.size(); ++next) {
        running.push_back({.number = next, .tree = MakeTree(problems, next)});
      }
      EstimateStarts(problems, std::span(running).subspan(old), stop);
      if (stop.Reached()) throw Stopped();
      Step(std::span(running), stop);
      const double share = timer.Next() / static_cast<double>(running.size());
      for (const auto& each : running) each.tree->AddSeconds(share);
      for (const auto& each : running) {
        if (each.tree->ended()) done(each.number, each.tree->Result());
      }
      std::erase_if(running, [](const auto& each) { return each.tree->ended(); });
    }
  }

 protected:
  using Running = std::span<RunningTree<Tree>>;

  /// See BestFirstSearch. `domain` and `network` must outlive this. `ball` may be null.
  LockStepSearch(const char* name, const Domain& domain, Evaluator& network, const Config& config,
                 std::shared_ptr<const GoalBall> ball, int children_of_entry)
      : BestFirstSearch(name, config.search, children_of_entry),
        domain_(domain),
        ball_(std::move(ball)),
        expander_(domain, ball_),
        evaluator_(domain, network, static_cast<std::size_t>(config.inference.rows_at_once())) {}

  const Domain& domain() const { return domain_; }
  Expander& expander() { return expander_; }
  BatchEvaluator& evaluator() { return evaluator_; }

  // Evaluates the starts of trees that were just made.
  virtual void EstimateStarts(const ProblemBatch& problems, Running running,
                              const StopSignal& stop) = 0;

  // Makes one step of all trees.
  virtual void Step(Running running, const StopSignal& stop) = 0;

  // Pops the entries that all trees take next, and numbers them. Returns how many there are.
  static std::size_t PopAll(Running running) {
    ForEach(running.size(), [&](std::size_t i) { running[i].tree->Pop(); });
    std::size_t count = 0;
    for (auto& each : running) {
      each.first_state = count;
      count += each.tree->num_popped();
    }
    return count;
  }

  // Numbers the children of all trees that need estimates, and calls add(child) for each of them.
  // Returns how many there are.
  template <class Add>
  static std::size_t ForEachFresh(Running running, const Add& add) {
    std::size_t count = 0;
    for (auto& each : running) {
      each.first_fresh = count;
      count += each.tree->fresh().size();
      for (const std::uint32_t child : each.tree->fresh()) add(child);
    }
    return count;
  }

 private:
  std::unique_ptr<Tree> MakeTree(const ProblemBatch& problems, std::size_t number) const {
    const std::span<const std::uint8_t> start = problems.states[number];
    const float at_most = problems.AtMost(number, config().at_most);
    auto tree = std::make_unique<Tree>(domain_.spec(), config(), start, at_most);
    SolveIfKnown(*tree, domain_, ball_.get(), start, at_most);
    return tree;
  }

  const Domain& domain_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  Expander expander_;
  BatchEvaluator evaluator_;
};

}  // namespace tandem
