#include "search/beam_meeting.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "search/hash_set.h"
#include "search/search.h"

namespace tandem {

BeamMeeting::BeamMeeting(const Domain& domain, const InverseFrame& inverse)
    : domain_(domain), inverse_(inverse) {}

void BeamMeeting::Clear() {
  positions_.clear();
  meeting_.Clear();
}

void BeamMeeting::Begin(std::span<const std::uint8_t> start, std::int64_t max_length) {
  meeting_.Clear(max_length);
  start_.assign(start.begin(), start.end());
  positions_ = start_;
  positions_.resize(2 * start.size());
  domain_.WriteGoals(Rows(std::span(positions_).subspan(start.size())));
  AddPositions(0, std::array{0.0F, 0.0F}, std::array<std::uint8_t, 2>{0, 1});
}

void BeamMeeting::Advance(const BeamPaths& paths, std::span<const float> costs,
                          std::span<const std::uint8_t> of_inverse) {
  const std::span<const BeamPaths::Step> steps = paths.last_steps();
  const std::vector<std::uint8_t> before = std::move(positions_);
  const ConstRows parents(before.data(), before.size() / start_.size(), start_.size());
  positions_.resize(steps.size() * start_.size());
  const Rows positions(positions_.data(), steps.size(), start_.size());
  std::vector<Action> actions;
  actions.reserve(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::ranges::copy(parents[steps[i].parent], positions[i].begin());
    actions.push_back(steps[i].action);
  }
  domain_.Apply(positions, actions);
  AddPositions(paths.depth(), costs, of_inverse);
}

void BeamMeeting::AddPositions(std::size_t depth, std::span<const float> costs,
                               std::span<const std::uint8_t> of_inverse) {
  const ConstRows positions(positions_.data(), costs.size(), start_.size());
  for (std::uint32_t i = 0; i < positions.size(); ++i) {
    const auto side = of_inverse[i] != 0 ? Meeting::Side::kGoal : Meeting::Side::kStart;
    meeting_.Add(side, HashState(positions[i]),
                 {.depth = static_cast<std::uint32_t>(depth), .index = i, .cost = costs[i]});
  }
}

std::optional<std::vector<Action>> BeamMeeting::CheapestSolution(const BeamPaths& paths,
                                                                 const CostBound& bound) {
  while (const std::optional<Meeting::Pair> pair = meeting_.cheapest()) {
    if (bound.Excludes(pair->cost())) return std::nullopt;
    std::vector<Action> actions = paths.PathTo(pair->from_start.index, pair->from_start.depth);
    std::ranges::copy(
        inverse_.Translate(paths.PathTo(pair->from_goal.index, pair->from_goal.depth)),
        std::back_inserter(actions));
    std::vector<std::uint8_t> state = start_;
    ApplyAll(domain_, actions, state);
    if (IsGoal(domain_, state)) return actions;
    meeting_.DropCheapest();  // the hashes of the two positions collide
  }
  return std::nullopt;
}

}  // namespace tandem
