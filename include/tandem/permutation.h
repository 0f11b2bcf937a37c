// Puzzles whose every action is a fixed permutation of the state's bytes (Rubik's Cube and kin).
// Such a puzzle lists its permutations and inherits the implementation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// permutation[i] is the position whose byte moves to position i.
using Permutation = std::vector<std::uint8_t>;

/// The permutation that applies `first`, then `second`. Requires equal sizes.
Permutation Compose(const Permutation& first, const Permutation& second);

/// The permutation that undoes `permutation`.
Permutation Inverse(const Permutation& permutation);

class PermutationTable;

/// A domain with one goal and one permutation for each action. Subclasses add the notation.
/// Rows are permuted by the widest instructions that the processor has.
class PermutationDomain : public Domain {
 public:
  ~PermutationDomain() override;
  void WriteGoals(Rows states) const override;
  void Apply(Rows states, std::span<const Action> actions) const override;
  void Expand(ConstRows states, Rows children) const override;
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override;

  /// The permutations, for those who permute elsewhere, as on a GPU.
  const PermutationTable& table() const { return *table_; }

 protected:
  /// `spec.state_size` and `spec.inverse_actions` are worked out from the rest, and so is
  /// `spec.input` unless the subclass encodes states in a way of its own.
  /// Throws Error that names the action that is no permutation of goal.size() positions, or whose
  /// inverse is not among the actions. At most 256 positions.
  PermutationDomain(DomainSpec spec, std::vector<std::uint8_t> goal,
                    const std::vector<Permutation>& permutations);

 private:
  std::vector<std::uint8_t> goal_;
  std::unique_ptr<const PermutationTable> table_;
};

}  // namespace tandem
