// Beam search with a learned heuristic.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/train_config.h"
#include "search/expander.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

struct BeamOptions {
  std::size_t width = SearchConfig{}.beam_width;       ///< states kept at each depth
  std::size_t max_length = SearchConfig{}.max_length;  ///< depth to give up at
  double max_seconds = 0;  ///< for one puzzle, looked at once a depth; 0: no limit
  std::size_t evaluate_rows =
      EvaluateConfig{}.batch_rows;  ///< states that the evaluator gets at once
};

/// Keeps, at each depth, the `width` states of least cost and estimated cost-to-go among all
/// children of the depth before; a state that was kept at an earlier depth, or stands twice in this
/// one, is dropped, and so is what an action makes that does not apply, a copy of the parent. Ends
/// at the first depth with a goal, with the cheapest there. States are told apart by 64-bit hashes:
/// with a million states kept, the chance that any two collide is about 3e-8.
///
/// Solves one puzzle after the other.
class BeamSearch : public Search {
 public:
  /// `domain` and `evaluator` must outlive this.
  BeamSearch(const Domain& domain, Evaluator& evaluator, BeamOptions options);

  void SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) override;

 protected:
  /// Which children of the frontier to keep, in the order of their numbers. Tells NoteEstimate the
  /// least cost-to-go among them, where it is known.
  virtual std::vector<std::uint32_t> Choose(const StopSignal& stop);

  const Domain& domain() const { return domain_; }
  const BeamOptions& options() const { return options_; }
  Expander& expander() { return expander_; }
  ConstRows frontier() const;

  /// By how much the path to a state of the frontier costs more than the cheapest to any: 0 for all
  /// where all actions cost the same.
  float Excess(std::size_t parent) const { return costs_[parent] - least_cost_; }

  /// Keeps a child from being chosen again, and says whether it was not yet.
  bool MarkKept(std::uint32_t child);

  /// Remembers the child if none of a lower estimate was seen, in case no solution is found.
  void NoteEstimate(std::uint32_t child, float estimate);

 private:
  // How a kept state came about: the index of its parent among those kept one depth before.
  struct Step {
    std::uint32_t parent;
    Action action;
  };

  // A state of least estimate, as the child of a state `depth` steps from the start.
  struct Nearest {
    float estimate;
    std::size_t depth;
    Step step;
  };

  SearchResult SolveOne(std::span<const std::uint8_t> start, const StopSignal& stop);
  std::optional<Ended> LimitReached(double seconds) const;
  std::optional<std::size_t> CheapestGoal() const;
  float CostTo(std::size_t child) const;
  std::vector<std::uint32_t> CheapestFirst() const;
  std::vector<std::uint32_t> NewChildren();
  void Keep(const std::vector<std::uint32_t>& children);
  Step StepTo(std::size_t child) const;
  std::vector<Action> PathTo(std::size_t depth, Step step) const;
  void Account(SearchResult& result) const;

  const Domain& domain_;
  const BeamOptions options_;

  const bool costs_differ_;
  std::vector<std::uint8_t> frontier_;    // the states of this depth
  std::vector<float> costs_;              // of the paths to them
  float least_cost_ = 0;                  // of these
  std::vector<std::vector<Step>> steps_;  // by depth, beginning with depth 1
  absl::flat_hash_set<std::uint64_t> kept_;
  std::optional<Nearest> nearest_;

  Expander expander_;
  absl::flat_hash_set<std::uint64_t> seen_;  // among the children of the frontier
};

}  // namespace tandem
