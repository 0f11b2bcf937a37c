// Labels states that were stored without labels.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/stop_signal.h"
#include "buffer/data_buffer.h"
#include "config/train_config.h"
#include "generate/bellman.h"
#include "generate/chunks.h"
#include "generate/pipelined_loop.h"
#include "generate/row_writer.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Labeller turns stored states into training examples with the target network's current weights.
class Labeller {
 public:
  virtual ~Labeller() = default;

  /// Labels row i of `states` (StateSchema) and writes it to row i of `examples` (ExampleSchema).
  /// Blocks until done. Calls `between` on the calling thread once per chunk, before the chunk is
  /// evaluated. Throws Stopped once `stop` is reached, and whatever the domain, the network or
  /// `between` throws.
  virtual void Label(const DataBuffer& states, DataBuffer& examples, const StopSignal& stop,
                     const std::function<void()>& between) = 0;
};

/// LabellerOptions are the options of BellmanLabeller.
struct LabellerOptions {
  Head head = Head::kV;
  bool capped = false;  ///< cap each label with the row's bound (see BellmanLabels)
  std::int64_t chunk_rows = GenerateConfig{}.chunk_rows;
  int workers = 1;
};

/// BellmanLabeller labels states with Bellman backups, chunk by chunk. While the target network
/// evaluates the children of one chunk, the workers expand the next chunk (see PipelinedLoop).
class BellmanLabeller final : public Labeller {
 public:
  /// `domain` and `target_network` must outlive this.
  BellmanLabeller(const Domain& domain, Evaluator& target_network, LabellerOptions options);

  void Label(const DataBuffer& states, DataBuffer& examples, const StopSignal& stop,
             const std::function<void()>& between) override;

 private:
  void Expand(const DataBuffer& states, Chunk chunk, DataBuffer& examples,
              ExpandedBatch& batch) const;
  void BackUp(Chunk chunk, const ExpandedBatch& batch, DataBuffer& examples) const;

  const LabellerOptions options_;
  const BatchExpander lookahead_;
  const ExampleWriter writer_;
  PipelinedLoop turns_;
  std::array<ExpandedBatch, 2> expanded_;  // chunk i uses element i % 2
};

}  // namespace tandem
