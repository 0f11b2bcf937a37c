// Generators whose rows are the states along random walks, labelled by the walks themselves.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/random.h"
#include "config/config.h"
#include "domain/random_walk.h"
#include "generate/exact_labels.h"
#include "generate/generator.h"
#include "generate/row_ranges.h"
#include "generate/walk_rows.h"

namespace tandem {

/// WalkGenerator makes examples of prefixes of random walks from a goal, without a target network.
/// A subclass writes the label of each prefix. WalkRows says which prefixes become rows. Training
/// on all of them follows Takano, "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR
/// 2023.
///
/// A row does not depend on how the rows are split into ranges.
class WalkGenerator : public Generator {
 public:
  bool needs_network() const final { return false; }
  const Schema& schema() const final { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) final;

 protected:
  /// `domain` must outlive this. See MakeGenerator for `config`.
  /// With `exact`, rows in the ball around the goal get exact labels, and some rows become anchors.
  WalkGenerator(const Domain& domain, const Config& config, WalkKind kind = WalkKind::kNoStepBack,
                std::shared_ptr<const ExactLabels> exact = nullptr);

  const Domain& domain() const { return domain_; }

 private:
  class Prefixes;

  /// Writes the label of the state that `walk` has reached, one number per output, and the weights
  /// of the outputs. `weight` is empty if the schema has none. The caller sets both to zero.
  /// `random` belongs to the row. Returns the action that the row is about if the head takes an
  /// action as input, else nothing. Called by several threads at once.
  virtual std::optional<Action> WriteLabel(RandomWalk& walk, Random random, std::span<float> label,
                                           std::span<float> weight) const = 0;

  void FillRange(const FillRequest& request, RowRange range, DataBuffer& out) const;
  void Walk(Prefixes& prefixes, const FillRequest& request, Rows states, std::span<Action> actions,
            std::size_t first, DataBuffer& out) const;
  void WriteExact(ConstRows states, std::size_t first, DataBuffer& out) const;
  void PlaceAnchors(const FillRequest& request, Rows states, std::size_t first) const;

  const Domain& domain_;
  const WalkRows rows_;
  const WalkKind kind_;
  const std::int64_t range_rows_;
  const std::uint64_t seed_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;  // may be null
  tbb::task_arena arena_;
};

}  // namespace tandem
