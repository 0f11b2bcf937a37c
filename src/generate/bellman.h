// Bellman backups: states, their children, and the network's estimates of the children.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/examples.h"
#include "generate/pipelined_loop.h"
#include "search/expander.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// ExpandedBatch holds a batch of states together with their children and the network's estimates
/// of the children. Its memory is reused for the next batch.
struct ExpandedBatch {
  explicit ExpandedBatch(const Domain& domain) : children(domain) {}

  std::size_t size() const { return is_goal.size(); }
  Rows rows() { return {states.data(), size(), size() > 0 ? states.size() / size() : 0}; }
  ConstRows rows() const {
    return {states.data(), size(), size() > 0 ? states.size() / size() : 0};
  }

  // One element, or one row of bytes, per state.
  std::vector<std::uint8_t> states;
  std::vector<std::uint8_t> is_goal;
  /// Upper bound on the cost-to-go: the cost of undoing the path from a goal to the state. Infinite
  /// if that path has an action that cannot be undone.
  std::vector<float> bounds;

  // One element, or one row, per child, in the order of `children`.
  Children children;
  std::vector<std::uint8_t> child_inputs;  ///< encoded for the network
  std::vector<float> child_values;         ///< the network's estimates
};

/// BatchExpander expands states and evaluates their children. Backups and the searches of
/// generators both work on the result.
class BatchExpander {
 public:
  /// `domain` and `network` must outlive this.
  BatchExpander(const Domain& domain, Evaluator& network) : domain_(domain), network_(network) {}

  /// The memory, in bytes, of a batch of `states` states.
  static std::int64_t BytesFor(const DomainSpec& spec, std::int64_t states);

  /// Makes room for `states` states.
  void Resize(ExpandedBatch& batch, std::size_t states) const;

  /// Fills in is_goal, children and child_inputs for `count` states from index `first` on. Their
  /// bytes must already be in `batch.states`. Several threads may call this at once for different
  /// states.
  void Expand(ExpandedBatch& batch, std::size_t first, std::size_t count) const;

  /// Evaluates all children in one call of the network. Blocks and throws like Evaluator::Evaluate.
  /// Also throws Error that names the state if an estimate is NaN.
  void Evaluate(ExpandedBatch& batch) const;

 private:
  const Domain& domain_;
  Evaluator& network_;
};

/// BellmanLabels labels states with their Bellman backups (Agostinelli et al., "Solving the Rubik's
/// cube with deep reinforcement learning and search", Nature Machine Intelligence 2019). The label
/// of a state is the minimum over all actions of the action's cost plus the network's estimate of
/// the child. The label of a goal is 0, the estimate of a child that is a goal is 0, and negative
/// estimates count as 0.
///
/// For a Q net the label has one backup per action instead of their minimum: Q-learning for all
/// actions of a state at once.
///
/// If `capped`, a label is at most the state's bound (ExpandedBatch::bounds). The bound needs no
/// network. It makes labels at least as accurate as walk lengths from the start, and keeps a
/// network that overestimates from pushing its own labels up further. For a Q net the cap of an
/// action is the sum of its cost, the cost of undoing it, and the state's bound.
class BellmanLabels {
 public:
  /// `spec` must outlive this.
  BellmanLabels(const DomainSpec& spec, Head head, bool capped)
      : spec_(spec), head_(head), capped_(capped) {}

  /// Writes the label of state i of an evaluated batch. `label` has TargetWidth floats.
  void Write(const ExpandedBatch& batch, std::size_t i, std::span<float> label) const;

 private:
  const DomainSpec& spec_;
  const Head head_;
  const bool capped_;
};

/// RowWriter writes state i of a batch to one row of a buffer, in two calls. Several threads may
/// write different rows at once.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  /// Writes the columns that are known before the children are evaluated.
  virtual void WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                          std::size_t row) const = 0;
  /// Writes the label. Requires that the children of the batch were evaluated.
  virtual void WriteLabel(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                          std::size_t row) const = 0;
};

/// ExampleWriter writes labelled rows (ExampleSchema).
class ExampleWriter final : public RowWriter {
 public:
  /// `domain` must outlive this.
  ExampleWriter(const Domain& domain, Head head, bool capped);

  void WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;
  void WriteLabel(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;

 private:
  const Domain& domain_;
  const BellmanLabels labels_;
  const std::size_t width_;  // floats per label
};

/// StateWriter writes unlabelled rows (StateSchema).
class StateWriter final : public RowWriter {
 public:
  void WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;
  void WriteLabel(const ExpandedBatch& /*batch*/, std::size_t /*i*/, DataBuffer& /*out*/,
                  std::size_t /*row*/) const override {}
};

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
