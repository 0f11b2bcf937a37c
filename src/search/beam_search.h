// Beam search guided by a learned cost-to-go.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "search/expander.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// BeamSearch expands all kept states of one depth and keeps the search.beam_width children with
/// the least sum of path cost and estimated cost-to-go. It drops duplicates, states kept at an
/// earlier depth, and children equal to their parent (the result of an action that does not apply).
/// It ends at the first depth that has a goal and returns the cheapest goal of that depth. States
/// are compared by 64-bit hashes: with a million states kept, the chance that any two collide is
/// about 3e-8.
///
/// Puzzles are solved one after another.
class BeamSearch : public Search {
 public:
  /// Follows config.search; passes at most inference.batch_size states per call to the evaluator.
  /// `domain` and `evaluator` must outlive this.
  BeamSearch(const Domain& domain, Evaluator& evaluator, const Config& config);

  void SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) override;

 protected:
  /// Returns the children of the frontier to keep, in ascending order. If it evaluates them, it
  /// passes each kept child and its estimate to NoteEstimate.
  virtual std::vector<std::uint32_t> Choose(const StopSignal& stop);

  const Domain& domain() const { return domain_; }
  std::size_t width() const { return static_cast<std::size_t>(config_.beam_width); }
  Expander& expander() { return expander_; }
  ConstRows frontier() const;

  /// The path cost of a frontier state minus the least path cost in the frontier. It is 0 for every
  /// state if all actions cost the same.
  float Excess(std::size_t parent) const { return costs_[parent] - least_cost_; }

  /// Marks a child as kept. Returns false if it equals its parent or its state was already kept.
  bool MarkKept(std::uint32_t child);

  /// Remembers the child if its estimate is the least so far. SearchResult::best reports it if no
  /// solution is found.
  void NoteEstimate(std::uint32_t child, float estimate);

 private:
  // The last step of the path to a kept state.
  struct Step {
    std::uint32_t parent;  // index among the states kept one depth before
    Action action;
  };

  // The state with the least estimate, as the child of a state that is `depth` steps from the
  // start.
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
  void FinishResult(SearchResult& result) const;

  const Domain& domain_;
  const SearchConfig config_;

  const bool costs_differ_;
  std::vector<std::uint8_t> frontier_;    // the states of the current depth
  std::vector<float> costs_;              // path costs of the frontier states
  float least_cost_ = 0;                  // minimum of costs_
  std::vector<std::vector<Step>> steps_;  // steps_[d] belongs to depth d + 1
  absl::flat_hash_set<std::uint64_t> kept_;
  std::optional<Nearest> nearest_;

  Expander expander_;
  absl::flat_hash_set<std::uint64_t> seen_;  // hashes seen among the current children
};

/// QBeamSearch is BeamSearch with a Q net: it ranks the children of the frontier by the Q values of
/// the actions that lead to them. It evaluates once per kept state instead of once per child, so at
/// the same cost the beam can be wider by about the number of actions.
class QBeamSearch final : public BeamSearch {
 public:
  /// `domain` and `q_net` must outlive this.
  QBeamSearch(const Domain& domain, QEvaluator& q_net, const Config& config)
      : BeamSearch(domain, q_net, config), q_net_(q_net) {}

 private:
  std::vector<std::uint32_t> Choose(const StopSignal& stop) override;

  QEvaluator& q_net_;
};

}  // namespace tandem
