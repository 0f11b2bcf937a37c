#include "search/inverse_frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "domain/moves.h"
#include "domain/permute.h"
#include "tandem/error.h"
#include "tandem/permutation.h"

namespace tandem {
namespace {

[[noreturn]] void Reject(const DomainSpec& spec, const std::string& why) {
  throw InputError(fmt::format("{}: {}", spec.name, why));
}

}  // namespace

InverseFrame::InverseFrame(const Domain& domain)
    : inverse_actions_(domain.spec().inverse_actions), goal_(GoalOf(domain)) {
  const DomainSpec& spec = domain.spec();
  const auto* const permutations = dynamic_cast<const PermutationDomain*>(&domain);
  if (permutations == nullptr) {
    Reject(spec,
           "only puzzles from a file of permutations and those of class PermutationDomain know "
           "the inverse of a position");
  }
  for (std::size_t a = 0; a < inverse_actions_.size(); ++a) {
    if (spec.action_costs[a] == spec.action_costs[inverse_actions_[a]]) continue;
    Reject(spec, fmt::format("the action {} costs {}, but its inverse {} costs {}, so a position "
                             "and its inverse have solutions of different costs",
                             spec.action_names[a], spec.action_costs[a],
                             spec.action_names[inverse_actions_[a]],
                             spec.action_costs[inverse_actions_[a]]));
  }
  orbits_.resize(goal_.size());
  companions_.resize(goal_.size());
  for (const std::vector<Place>& orbit : FindOrbits(permutations->table().permutations())) {
    for (const Place& place : orbit) {
      orbits_[place.front()] = orbit.front().front();
      companions_[place.front()] = place;
    }
  }
  for (std::size_t i = 0; i < goal_.size(); ++i) {
    const auto [known, is_new] =
        places_.try_emplace(SignatureOf(goal_, i), static_cast<std::uint16_t>(i));
    if (is_new) continue;
    Reject(spec,
           fmt::format("the goal looks the same at positions {} and {}, and moves lead from one to "
                       "the other, so a state does not tell its inverse",
                       known->second, i));
  }
}

InverseFrame::Signature InverseFrame::SignatureOf(std::span<const std::uint8_t> state,
                                                  std::size_t place) const {
  Signature signature = {orbits_[place]};
  for (const std::uint16_t companion : companions_[place]) signature.push_back(state[companion]);
  return signature;
}

std::optional<std::vector<std::uint8_t>> InverseFrame::Invert(
    std::span<const std::uint8_t> state) const {
  std::vector<std::uint8_t> inverse(goal_.size());
  std::vector<bool> taken(goal_.size(), false);
  for (std::size_t i = 0; i < goal_.size(); ++i) {
    const auto from = places_.find(SignatureOf(state, i));
    if (from == places_.end() || taken[from->second]) return std::nullopt;
    taken[from->second] = true;
    inverse[from->second] = goal_[i];
  }
  return inverse;
}

std::vector<Action> InverseFrame::Translate(std::span<const Action> actions) const {
  std::vector<Action> translated(actions.size());
  std::transform(actions.rbegin(), actions.rend(), translated.begin(),
                 [&](Action action) { return inverse_actions_[action]; });
  return translated;
}

std::optional<InverseFrame> MakeInverseFrame(const Domain& domain, const SearchConfig& config) {
  const bool both_ends = config.method == SearchMethod::kBidirectionalBeam;
  if (config.inverse == UseInverse::kNo && !both_ends) return std::nullopt;
  try {
    return InverseFrame(domain);
  } catch (const InputError& error) {
    if (both_ends) {
      throw InputError(fmt::format(
          "search.method: bidirectional_beam: {}. Set search.method to beam.", error.what()));
    }
    if (config.inverse == UseInverse::kAuto) return std::nullopt;
    throw InputError(fmt::format("search.inverse: {}. Set search.inverse to false.", error.what()));
  }
}

}  // namespace tandem
