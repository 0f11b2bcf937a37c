// Examples labelled by the length of a random walk, without a target network.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <memory>

#include "config/config.h"
#include "domain/random_walk.h"
#include "generate/exact_labels.h"
#include "generate/generator.h"

namespace tandem {

/// WalkLengthGenerator makes one example of every prefix of a random walk from a goal. The label is
/// the cost of undoing the prefix, which is an upper bound on the true cost-to-go. Training on all
/// prefixes follows Takano, "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR 2023;
/// training on walk lengths follows Chervov et al., "CayleyPy", 2025.
///
/// For a Q net, the label of an action is its cost plus the cost of the way back from its child.
/// The action that undoes the last step shortens the walk by that step. Every other action makes
/// the walk one step longer.
///
/// With generate.ball_radius, rows in the ball around the goal get exact labels, and some rows
/// become anchors (ExactLabels).
///
/// Walks have generate.max_scramble actions. Global row r is the prefix of (r mod length) + 1
/// actions of walk r / length. It does not depend on how the rows are split into ranges.
class WalkLengthGenerator final : public Generator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`. Throws InputError for a Q net if
  /// the domain's actions have no inverses. `exact` may be null.
  WalkLengthGenerator(const Domain& domain, const Config& config,
                      std::shared_ptr<const ExactLabels> exact = nullptr);

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  class Prefixes;

  void FillRange(const FillRequest& request, RowRange range, DataBuffer& out) const;
  void Walk(Prefixes& prefixes, Rows states, std::size_t first, DataBuffer& out) const;
  void WriteLabel(const RandomWalk& walk, std::span<float> label) const;
  void UseExactLabels(const FillRequest& request, Rows states, std::size_t first,
                      DataBuffer& out) const;

  const Domain& domain_;
  const std::int64_t walk_length_;
  const std::int64_t range_rows_;
  const std::uint64_t seed_;
  const Head head_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;  // may be null
  tbb::task_arena arena_;
};

}  // namespace tandem
