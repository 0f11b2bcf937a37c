// Labels for states that were kept without.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/stop_signal.h"
#include "buffer/data_buffer.h"
#include "config/train_config.h"
#include "generate/bellman.h"
#include "generate/chunks.h"
#include "generate/row_writer.h"
#include "generate/turns.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Makes examples of states by the target network as it is at the time.
class Labeller {
 public:
  virtual ~Labeller() = default;

  /// Writes row i of `states`, whose schema is StateSchema, into row i of `examples`, whose schema
  /// is ExampleSchema. Blocks; calls `between` on the calling thread every now and then. Throws
  /// Stopped once `stop` is reached, and what the domain, the network or `between` throws.
  virtual void Label(const DataBuffer& states, DataBuffer& examples, const StopSignal& stop,
                     const std::function<void()>& between) = 0;
};

struct LabellerOptions {
  Head head = Head::kV;
  bool capped = false;  ///< a label is at most the row's bound
  std::int64_t chunk_rows = GenerateConfig{}.chunk_rows;
  int workers = 1;
};

/// Labels with Bellman backups, chunk by chunk: while the target network evaluates one chunk's
/// children, the workers expand the next (Turns).
class BellmanLabeller final : public Labeller {
 public:
  /// `domain` and `target_network` must outlive this.
  BellmanLabeller(const Domain& domain, Evaluator& target_network, LabellerOptions options);

  void Label(const DataBuffer& states, DataBuffer& examples, const StopSignal& stop,
             const std::function<void()>& between) override;

 private:
  void Expand(const DataBuffer& states, Chunk chunk, DataBuffer& examples, Expanded& batch) const;
  void BackUp(Chunk chunk, const Expanded& batch, DataBuffer& examples) const;

  const LabellerOptions options_;
  const Lookahead lookahead_;
  const ExampleWriter writer_;
  Turns turns_;
  std::array<Expanded, 2> expanded_;  // chunk i uses element i % 2
};

}  // namespace tandem
