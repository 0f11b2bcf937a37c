// Labels states that were stored without labels.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/examples.h"
#include "generate/bellman.h"
#include "generate/exact_labels.h"
#include "generate/pipelined_loop.h"
#include "generate/row_ranges.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// StoredStateLabeller labels the states that a generator of sync_main made, which the generator
/// stores without labels. The labels are their BellmanTargets.
class StoredStateLabeller {
 public:
  /// Follows config.generate and config.network.head; generate.workers must be a number. `domain`
  /// and `target_network` must outlive this. `exact` may be null.
  StoredStateLabeller(const Domain& domain, Evaluator& target_network, const Config& config,
                      std::shared_ptr<const ExactLabels> exact = nullptr);

  /// The columns of the examples that Start writes.
  Schema example_schema() const { return ExampleSchema(domain_.spec(), head_); }

  /// Starts to label stored states, for update `update`, with the target network's current weights:
  /// each Step of the result labels the next generate.chunk_rows rows. Row i of `states`
  /// (StateSchema) becomes row i of `examples` (ExampleSchema). While the network evaluates the
  /// children of some rows, the workers back up the rows before and expand the next ones. The rows
  /// of `examples` are complete once the Step that labels the last of them has returned.
  ///
  /// The arguments and this must outlive the result. Only one result at a time may exist.
  ///
  ///   PipelinedLoop labelling = labeller.Start(update, states, examples, stop);
  ///   while (labelling.Step()) queue.Serve();
  PipelinedLoop Start(std::int64_t update, const DataBuffer& states, DataBuffer& examples,
                      const StopSignal& stop);

 private:
  void Expand(std::int64_t update, const DataBuffer& states, RowRange range, DataBuffer& examples,
              StateBatch& batch);
  void WriteTargets(const StateBatch& batch, RowRange range, DataBuffer& examples) const;

  const Domain& domain_;
  const Head head_;
  const std::uint64_t seed_;
  const std::int64_t chunk_rows_;
  tbb::task_arena arena_;
  std::array<StateBatch, 2> batches_;  // turn i uses element i % 2
  const BellmanTargets targets_;
};

}  // namespace tandem
