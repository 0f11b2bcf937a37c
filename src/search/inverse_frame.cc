#include "search/inverse_frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "domain/moves.h"
#include "domain/permute.h"
#include "tandem/error.h"
#include "tandem/permutation.h"

namespace tandem {
namespace {

[[noreturn]] void Refuse(const DomainSpec& spec, const std::string& why) {
  throw InputError(fmt::format("{}: {}", spec.name, why));
}

}  // namespace

InverseFrame::InverseFrame(const Domain& domain)
    : inverse_actions_(domain.spec().inverse_actions), goal_(GoalOf(domain)) {
  const DomainSpec& spec = domain.spec();
  const auto* const permutations = dynamic_cast<const PermutationDomain*>(&domain);
  if (permutations == nullptr) {
    Refuse(spec, "a position has an inverse only if all actions are permutations of the state");
  }
  for (std::size_t a = 0; a < inverse_actions_.size(); ++a) {
    if (spec.action_costs[a] == spec.action_costs[inverse_actions_[a]]) continue;
    Refuse(spec, fmt::format("the action {} costs {}, but its inverse {} costs {}, so a position "
                             "and its inverse have solutions of different costs",
                             spec.action_names[a], spec.action_costs[a],
                             spec.action_names[inverse_actions_[a]],
                             spec.action_costs[inverse_actions_[a]]));
  }
  FindCompanions(permutations->table());
  for (std::size_t i = 0; i < goal_.size(); ++i) {
    const auto [known, is_new] =
        places_.try_emplace(SignatureOf(goal_, i), static_cast<std::uint8_t>(i));
    if (is_new) continue;
    Refuse(spec,
           fmt::format("the goal looks the same at positions {} and {}, and moves lead from one to "
                       "the other, so a state does not tell its inverse",
                       known->second, i));
  }
}

// Fills in orbits_ and companions_, by the orbits of places and of pairs of places.
void InverseFrame::FindCompanions(const PermutationTable& table) {
  const std::size_t size = goal_.size();
  DisjointSets singles(size);
  DisjointSets pairs(size * size);
  for (std::size_t a = 0; a < table.num_actions(); ++a) {
    const std::span<const std::uint8_t> sources = table.sources(static_cast<Action>(a));
    for (std::size_t i = 0; i < size; ++i) {
      singles.Join(i, sources[i]);
      for (std::size_t j = 0; j < size; ++j) {
        pairs.Join(i * size + j, sources[i] * size + sources[j]);
      }
    }
  }

  // If the orbit of a pair has no more pairs than its first place has images, each place is the
  // first of exactly one of them. Its second place is then a companion.
  const std::vector<std::size_t> single_sizes = singles.Sizes();
  const std::vector<std::size_t> pair_sizes = pairs.Sizes();
  companions_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    orbits_.push_back(static_cast<std::uint16_t>(singles.Find(i)));
    std::vector<std::uint8_t>& companions = companions_[i];
    for (std::size_t j = 0; j < size; ++j) {
      if (pair_sizes[pairs.Find(i * size + j)] != single_sizes[orbits_[i]]) continue;
      companions.push_back(static_cast<std::uint8_t>(j));
    }
    std::ranges::sort(companions, {}, [&](std::uint8_t j) { return pairs.Find(i * size + j); });
  }
}

InverseFrame::Signature InverseFrame::SignatureOf(std::span<const std::uint8_t> state,
                                                  std::size_t place) const {
  Signature signature = {orbits_[place]};
  for (const std::uint8_t companion : companions_[place]) signature.push_back(state[companion]);
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
