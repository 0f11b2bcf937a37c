// Examples with exact labels, drawn from all states around the goal.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "config/config.h"
#include "generate/exact_labels.h"
#include "generate/generator.h"
#include "generate/row_ranges.h"
#include "tandem/domain.h"

namespace tandem {

/// ExactDistanceGenerator draws states uniformly from the ball around the goal (GoalBall) and
/// labels them with what their exact cost-to-go and those of their children say to the head
/// (ExactLabels). For head q_in, each row has an action drawn by DrawAction. If the ball holds all
/// states of the puzzle, this is supervised learning of the true cost-to-go, the reference to
/// compare other targets with.
///
/// The state of a row depends on the seed and the row's number only.
class ExactDistanceGenerator final : public Generator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`, whose network.head must not be
  /// policy. `exact` must not be null.
  ExactDistanceGenerator(const Domain& domain, const Config& config,
                         std::shared_ptr<const ExactLabels> exact);

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  void FillRange(const FillRequest& request, RowRange range, DataBuffer& out) const;
  std::span<const std::uint8_t> StateOf(const FillRequest& request, std::size_t row) const;

  const Domain& domain_;
  const Head head_;
  const std::int64_t range_rows_;
  const std::uint64_t seed_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;
  tbb::task_arena arena_;
};

}  // namespace tandem
