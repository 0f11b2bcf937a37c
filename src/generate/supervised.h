// Examples from solved paths.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "generate/generator.h"
#include "generate/path_labels.h"
#include "generate/row_ranges.h"
#include "generate/solved_paths.h"
#include "tandem/domain.h"

namespace tandem {

/// SupervisedGenerator draws the states of solved paths (generate.paths) at random and labels them
/// with what the paths say (PathLabels).
///
/// The goal at the end of a path is a row if the network estimates the costs of states; its cost is
/// 0, and it has no action. Each state of a path is drawn in proportion to the path's weight. The
/// draws of a row depend on the seed and the row's number only.
class SupervisedGenerator final : public Generator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`. Throws the same errors as
  /// ReadSolvedPaths, and InputError if no path has a state that the head can learn from.
  SupervisedGenerator(const Domain& domain, const Config& config);

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  std::size_t StatesOf(const SolvedPath& path) const;
  const SolvedPath& DrawPath(Random& random) const;
  void FillRange(const FillRequest& request, RowRange range, DataBuffer& out) const;

  const Domain& domain_;
  const Head head_;
  const PathLabels labels_;
  const std::int64_t range_rows_;
  const std::uint64_t seed_;
  const Schema schema_;
  std::vector<SolvedPath> paths_;     // those with at least one state to draw
  std::vector<double> total_weight_;  // of the states of paths 0 to i
  tbb::task_arena arena_;
};

}  // namespace tandem
