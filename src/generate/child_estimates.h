// The network's estimates of the children of a batch of states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/expander.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// ChildEstimates holds the network's estimate of each child of an Expander. For each batch, call
/// Resize; then, on any threads, Encode for each range of children and Set for those whose
/// estimates are known; then Evaluate. So two batches can take turns: one is expanded and encoded
/// while the network evaluates the other.
///
/// If the network's estimates do not depend on what else it evaluates, goals, repeats of other
/// children of the batch and children whose estimates were set are not evaluated. The estimates of
/// the other children keep their bits. The estimate of a goal is then 0.
class ChildEstimates {
 public:
  /// `domain` and `network` must outlive this. Throws Error if the network does not estimate
  /// states.
  ChildEstimates(const Domain& domain, Evaluator& network);

  /// Whether the estimates of some children may be set or left out.
  bool skips_known() const { return skips_known_; }

  /// Makes room for `children` children.
  void Resize(std::size_t children);

  /// Encodes `count` children from child `first` on. Several threads may call this at once for
  /// different children.
  void Encode(const Expander& children, std::size_t first, std::size_t count);

  /// Says that the estimate of a child is known. Requires skips_known() and that the child was
  /// encoded. Several threads may call this at once for different children.
  void Set(std::size_t child, float estimate);

  /// Evaluates the children in one call of the network, on the calling thread, and fills in
  /// values(). The network may block, so do not call this inside a TBB task. Throws Error that
  /// names the state if an estimate is NaN, and whatever the network throws.
  void Evaluate(const Expander& children);

  /// One estimate per child.
  std::span<const float> values() const { return values_; }

 private:
  ConstRows InputsOf(std::size_t first, std::size_t count) const;
  void EvaluateNeeded(std::span<const std::uint64_t> hashes);
  void FindNeeded(std::span<const std::uint64_t> hashes);

  const Domain& domain_;
  Evaluator& network_;
  const bool skips_known_;
  std::vector<std::uint8_t> inputs_;  // the encoded children
  std::vector<float> values_;

  // Of EvaluateNeeded. A needed child is evaluated, unless it is a repeat.
  std::vector<std::uint8_t> is_needed_;
  std::vector<std::uint32_t> evaluated_;  // children, without repeats
  std::vector<std::uint32_t> place_;      // where in evaluated_ the estimate of a needed child is
  std::vector<std::uint32_t> slots_;      // a hash table of places in evaluated_
  std::vector<std::uint8_t> evaluated_inputs_;
  std::vector<float> evaluated_values_;
};

}  // namespace tandem
