// Targets by approximate value iteration, on scrambles or on the states of searches from them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/train_config.h"
#include "generate/bellman.h"
#include "generate/chunks.h"
#include "generate/generator.h"
#include "generate/row_writer.h"
#include "generate/state_search.h"
#include "generate/turns.h"
#include "tandem/evaluator.h"

namespace tandem {

struct ValueIterationOptions {
  Head head = Head::kV;
  bool capped = false;  ///< a label is at most the cost of the way that led to the state
  std::uint64_t seed = 0;
  std::int64_t max_scramble =
      GenerateConfig{}.max_scramble;  ///< walks have a length uniform in 0..max_scramble
  std::int64_t chunk_rows = GenerateConfig{}.chunk_rows;
  int workers = 1;

  StateSearchOptions search;
  std::int64_t search_iterations = 1;  ///< states in a row that are one search's

  bool labelled = true;  ///< rows are of ExampleSchema; if not, of StateSchema
};

/// Expands states and labels each with its Bellman backup (BellmanLabels). They are the ends of
/// random walks and, with a search, the states that it comes to from there: what steers it is what
/// labels them, so a step costs one evaluation.
///
/// Global row r is step (r mod search_iterations) of instance r / search_iterations. An instance
/// that has expanded a goal or a neighbour of one, or finds nothing left to expand, starts anew
/// from another scramble, that of its next row; so without a search each row is a scramble. All
/// random numbers of a row are keyed by its number.
///
/// Chunks of up to `chunk_rows` instances go through in lock step: one evaluation for a step of
/// them all, while the workers update and expand another chunk (Turns).
class ValueIterationGenerator final : public Generator {
 public:
  /// `domain` and `network` must outlive this.
  ValueIterationGenerator(const Domain& domain, Evaluator& network, ValueIterationOptions options);

  bool asks_network() const override { return true; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  // Instances in lock step, and the step they are at.
  struct Group {
    explicit Group(const Domain& domain) : batch(domain) {}

    Chunk instances;  // of the fill
    std::int64_t step = 0;
    Expanded batch;  // a state for each instance
    std::vector<std::unique_ptr<StateSearch>> searches;
  };

  struct Filling;

  void Expand(const Filling& fill, Group& group) const;
  void Advance(const Filling& fill, Group& group, std::size_t i) const;
  void Evaluate(Group& group) const;
  void BackUp(const Filling& fill, const Group& group) const;

  const Domain& domain_;
  const ValueIterationOptions options_;
  const Lookahead lookahead_;
  const std::unique_ptr<const RowWriter> writer_;
  Turns turns_;
  std::array<Group, 2> groups_;  // turn i uses element i % 2
};

}  // namespace tandem
