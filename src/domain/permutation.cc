#include "tandem/permutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "domain/permute.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void CheckPermutation(const Permutation& permutation, std::size_t positions,
                      std::string_view action) {
  if (permutation.size() != positions) {
    throw Error(fmt::format("action {}: {} positions, expected {}, as in the goal", action,
                            permutation.size(), positions));
  }
  std::vector<bool> seen(positions, false);
  for (std::size_t i = 0; i < positions; ++i) {
    const std::size_t from = permutation[i];
    if (from >= positions || seen[from]) {
      throw Error(
          fmt::format("action {}: not a permutation: position {} takes from {}, which is {}",
                      action, i, from, from >= positions ? "out of range" : "already taken"));
    }
    seen[from] = true;
  }
}

// Sets the fields of the spec that follow from the goal and the permutations.
DomainSpec CompleteSpec(DomainSpec spec, const std::vector<std::uint8_t>& goal,
                        const std::vector<Permutation>& permutations) {
  if (goal.empty() || goal.size() > kMaxPositions) {
    throw Error(fmt::format("domain '{}': {} positions, expected 1 to {}", spec.name, goal.size(),
                            kMaxPositions));
  }
  if (permutations.size() != spec.action_names.size()) {
    throw Error(fmt::format("domain '{}': {} permutations for {} actions", spec.name,
                            permutations.size(), spec.action_names.size()));
  }
  for (std::size_t a = 0; a < permutations.size(); ++a) {
    CheckPermutation(permutations[a], goal.size(), spec.action_names[a]);
  }
  spec.state_size = static_cast<int>(goal.size());
  if (spec.input.positions == 0) {
    spec.input = {.positions = spec.state_size, .depth = 1 + *std::ranges::max_element(goal)};
  }
  for (std::size_t a = 0; a < permutations.size(); ++a) {
    const auto inverse = std::ranges::find(permutations, Inverse(permutations[a]));
    if (inverse == permutations.end()) {
      throw Error(fmt::format("action {} has no inverse among the actions", spec.action_names[a]));
    }
    spec.inverse_actions.push_back(static_cast<Action>(inverse - permutations.begin()));
  }
  return spec;
}

}  // namespace

Permutation Compose(const Permutation& first, const Permutation& second) {
  Permutation both(first.size());
  for (std::size_t i = 0; i < both.size(); ++i) both[i] = first[second[i]];
  return both;
}

Permutation Inverse(const Permutation& permutation) {
  Permutation inverse(permutation.size());
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    inverse[permutation[i]] = static_cast<std::uint8_t>(i);
  }
  return inverse;
}

PermutationDomain::PermutationDomain(DomainSpec spec, std::vector<std::uint8_t> goal,
                                     const std::vector<Permutation>& permutations)
    : Domain(CompleteSpec(std::move(spec), goal, permutations)),
      goal_(std::move(goal)),
      table_(std::make_unique<const PermutationTable>(permutations)) {}

PermutationDomain::~PermutationDomain() = default;

void PermutationDomain::WriteGoals(Rows states) const {
  for (std::size_t i = 0; i < states.size(); ++i) std::ranges::copy(goal_, states[i].begin());
}

void PermutationDomain::Apply(Rows states, std::span<const Action> actions) const {
  table_->Apply(states, actions);
}

void PermutationDomain::Expand(ConstRows states, Rows children) const {
  table_->Expand(states, children);
}

void PermutationDomain::IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const {
  for (std::size_t i = 0; i < states.size(); ++i) {
    is_goal[i] = std::memcmp(states[i].data(), goal_.data(), goal_.size()) == 0 ? 1 : 0;
  }
}

}  // namespace tandem
