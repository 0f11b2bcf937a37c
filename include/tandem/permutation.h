// Puzzles whose actions are fixed permutations of the state's bytes, such as Rubik's Cube. Such a
// puzzle lists its permutations and inherits the implementation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// permutation[i] is the position whose byte moves to position i.
using Permutation = std::vector<std::uint16_t>;

/// The permutation that applies `first`, then `second`. Requires equal sizes.
Permutation Compose(const Permutation& first, const Permutation& second);

/// The permutation that undoes `permutation`.
Permutation Inverse(const Permutation& permutation);

/// Positions whose contents always move together, such as the stickers of one or more pieces. When
/// moves bring the contents of one place to another place, the first position's go to the first
/// position, the second's to the second, and so on.
using Place = std::vector<std::uint16_t>;

/// Returns the orbits. An orbit is a set of positions whose contents moves can exchange, and has a
/// place for each of its positions, which is the first one of the place. A position that no move
/// changes is an orbit of its own.
std::vector<std::vector<Place>> FindOrbits(const std::vector<Permutation>& permutations);

class PermutationTable;

/// PermutationDomain is a domain with one goal and one permutation per action. Subclasses add the
/// notation of states. Rows of up to 256 bytes are permuted with the widest vector instructions of
/// the processor. Tensor programs (generate.program, search.program) take no longer rows.
/// Subclasses cannot change what actions and goals are, because searches and GPUs work with the
/// permutations themselves.
class PermutationDomain : public Domain {
 public:
  ~PermutationDomain() override;
  void WriteGoals(Rows states) const final;
  void Apply(Rows states, std::span<const Action> actions) const final;
  void Expand(ConstRows states, Rows children) const final;
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const final;

  /// The permutations, for code that applies them elsewhere, such as on a GPU.
  const PermutationTable& table() const { return *table_; }

 protected:
  /// Fills in `spec.state_size` and `spec.inverse_actions`, and also `spec.input` unless the
  /// subclass has set it because it encodes states in its own way. A state has at most 65,536
  /// bytes. Throws Error that names the action if one is not a permutation of goal.size()
  /// positions, or if its inverse is not among the actions.
  PermutationDomain(DomainSpec spec, std::vector<std::uint8_t> goal,
                    const std::vector<Permutation>& permutations);

 private:
  std::vector<std::uint8_t> goal_;
  std::unique_ptr<const PermutationTable> table_;
};

}  // namespace tandem
