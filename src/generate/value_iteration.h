// Examples by approximate value iteration, on scrambled states or on states met by searches.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/config.h"
#include "generate/bellman.h"
#include "generate/generator.h"
#include "generate/state_search.h"
#include "tandem/evaluator.h"

namespace tandem {

/// ValueIterationGenerator labels states with their Bellman backups (BellmanTargets). Without a
/// search, the states are ends of random walks. With one, they also include the states that the
/// search visits from there. One evaluation of a state's children both labels the state and guides
/// the search.
///
/// Global row r is step (r mod search_iterations) of instance r / search_iterations. If an instance
/// has expanded a goal or a neighbour of a goal, or has no state left to expand, its next row is a
/// new scramble and a new search starts there. Without a search every row is a new scramble. All
/// random numbers of a row are keyed by the row's number.
///
/// An anchor (ExactLabels) takes the place of its row when the row is written, so the searches do
/// not see it.
///
/// Instances are processed in ranges of up to generate.chunk_rows. The instances of a range advance
/// in lock step, with one evaluation per step. Meanwhile the workers advance and expand another
/// range (see PipelinedLoop).
class ValueIterationGenerator final : public Generator {
 public:
  /// `domain` and `network` must outlive this. See MakeGenerator for `config`. `exact` may be null.
  ValueIterationGenerator(const Domain& domain, Evaluator& network, const Config& config,
                          std::shared_ptr<const ExactLabels> exact = nullptr);

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  // The instances of one range, which advance in lock step.
  struct Group {
    Group(const Domain& domain, Evaluator& network, std::shared_ptr<const GoalBall> ball)
        : batch(domain, network, std::move(ball)) {}

    RowRange instances;  // counted from 0 in each fill
    std::int64_t step = 0;
    StateBatch batch;  // one state per instance
    std::vector<std::unique_ptr<StateSearch>> searches;
  };

  struct CurrentFill;

  void Expand(const CurrentFill& fill, Group& group) const;
  void Advance(const CurrentFill& fill, Group& group, std::size_t i) const;
  std::optional<std::size_t> Anchor(const CurrentFill& fill, const Group& group,
                                    std::size_t i) const;
  void WriteState(const CurrentFill& fill, Group& group, std::size_t i, std::size_t row) const;
  void WriteTargets(const CurrentFill& fill, const Group& group) const;

  const Domain& domain_;
  const GenerateConfig config_;
  const std::uint64_t seed_;
  const bool labelled_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;
  const BellmanTargets targets_;
  tbb::task_arena arena_;
  std::array<Group, 2> groups_;  // turn i uses element i % 2
};

}  // namespace tandem
