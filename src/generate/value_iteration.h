// Examples by approximate value iteration, on scrambled states or on states met by searches.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "generate/bellman.h"
#include "generate/generator.h"
#include "generate/pipelined_loop.h"
#include "generate/state_search.h"
#include "tandem/evaluator.h"

namespace tandem {

/// ValueIterationOptions are the options of ValueIterationGenerator.
struct ValueIterationOptions {
  Head head = Head::kV;
  bool capped = false;  ///< cap each label with the cost of undoing the path that led to the state
  std::uint64_t seed = 0;
  std::int64_t max_scramble =
      GenerateConfig{}.max_scramble;  ///< scramble lengths are uniform in 0..max_scramble
  std::int64_t chunk_rows = GenerateConfig{}.chunk_rows;
  int workers = 1;

  StateSearchOptions search;
  std::int64_t search_iterations = 1;  ///< consecutive rows that one instance produces

  bool labelled = true;  ///< true: rows have ExampleSchema; false: StateSchema
};

/// ValueIterationGenerator labels states with their Bellman backups (BellmanLabels). Without a
/// search, the states are ends of random walks. With one, they also include the states that the
/// search visits from there. One evaluation of a state's children both labels the state and guides
/// the search.
///
/// Global row r is step (r mod search_iterations) of instance r / search_iterations. If an instance
/// has expanded a goal or a neighbour of a goal, or has no state left to expand, its next row is a
/// new scramble and a new search starts there. Without a search every row is a new scramble. All
/// random numbers of a row are keyed by the row's number.
///
/// Instances are processed in chunks of up to `chunk_rows`. The instances of a chunk advance in
/// lock step, with one evaluation per step. Meanwhile the workers advance and expand another chunk
/// (see PipelinedLoop).
class ValueIterationGenerator final : public Generator {
 public:
  /// `domain` and `network` must outlive this.
  ValueIterationGenerator(const Domain& domain, Evaluator& network, ValueIterationOptions options);

  bool needs_network() const override { return true; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  // The instances of one chunk, which advance in lock step.
  struct Group {
    explicit Group(const Domain& domain) : batch(domain) {}

    Chunk instances;  // counted from 0 in each fill
    std::int64_t step = 0;
    ExpandedBatch batch;  // one state per instance
    std::vector<std::unique_ptr<StateSearch>> searches;
  };

  struct Filling;

  void Expand(const Filling& fill, Group& group) const;
  void Advance(const Filling& fill, Group& group, std::size_t i) const;
  void Evaluate(Group& group) const;
  void BackUp(const Filling& fill, const Group& group) const;

  const Domain& domain_;
  const ValueIterationOptions options_;
  const BatchExpander lookahead_;
  const std::unique_ptr<const RowWriter> writer_;
  PipelinedLoop turns_;
  std::array<Group, 2> groups_;  // turn i uses element i % 2
};

}  // namespace tandem
