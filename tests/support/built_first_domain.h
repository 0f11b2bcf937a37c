// A permutation puzzle that searches do not recognise as one.
#pragma once

#include "tandem/domain.h"

namespace tandem {

/// BuiltFirstDomain behaves like another domain but is no PermutationDomain. Searches therefore
/// build all children before they hash them.
class BuiltFirstDomain final : public Domain {
 public:
  /// `domain` must outlive this.
  explicit BuiltFirstDomain(const Domain& domain) : Domain(domain.spec()), domain_(domain) {}

  void WriteGoals(Rows states) const override { domain_.WriteGoals(states); }
  void Apply(Rows states, std::span<const Action> actions) const override {
    domain_.Apply(states, actions);
  }
  void Expand(ConstRows states, Rows children) const override { domain_.Expand(states, children); }
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    domain_.IsGoal(states, is_goal);
  }
  void Encode(ConstRows states, Rows inputs) const override { domain_.Encode(states, inputs); }
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    domain_.ParseState(text, state);
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return domain_.FormatState(state);
  }

 private:
  const Domain& domain_;
};

}  // namespace tandem
