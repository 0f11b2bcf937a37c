#include "search/beam_meeting.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "search/hash_set.h"
#include "search/search.h"

namespace tandem {

std::span<const BeamPaths::Step> BeamPaths::last_steps() const {
  if (steps_.empty()) return {};
  return steps_.back();
}

std::vector<Action> BeamPaths::PathBy(Step step, std::size_t depth) const {
  std::vector<Action> actions = {step.action};
  while (depth-- > 0) {
    step = steps_[depth][step.parent];
    actions.push_back(step.action);
  }
  std::ranges::reverse(actions);
  return actions;
}

std::vector<Action> BeamPaths::PathTo(std::size_t index, std::size_t depth) const {
  if (depth == 0) return {};
  return PathBy(steps_[depth - 1][index], depth - 1);
}

BeamMeeting::BeamMeeting(const Domain& domain, const InverseFrame& inverse)
    : domain_(domain), inverse_(inverse) {}

void BeamMeeting::Clear() {
  positions_.clear();
  from_start_.clear();
  from_goal_.clear();
  cheapest_.reset();
}

void BeamMeeting::Begin(std::span<const std::uint8_t> start, std::int64_t max_length) {
  Clear();
  max_length_ = max_length;
  start_.assign(start.begin(), start.end());
  positions_ = start_;
  positions_.resize(2 * start.size());
  domain_.WriteGoals(Rows(std::span(positions_).subspan(start.size())));
  AddPositions(0, std::array{0.0, 0.0}, std::array<std::uint8_t, 2>{0, 1});
}

void BeamMeeting::Advance(const BeamPaths& paths, std::span<const double> costs,
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

void BeamMeeting::AddPositions(std::size_t depth, std::span<const double> costs,
                               std::span<const std::uint8_t> of_inverse) {
  const ConstRows positions(positions_.data(), costs.size(), start_.size());
  for (std::uint32_t i = 0; i < positions.size(); ++i) {
    Add(HashState(positions[i]), of_inverse[i] != 0,
        {.depth = static_cast<std::uint32_t>(depth), .index = i, .cost = costs[i]});
  }
}

void BeamMeeting::Add(std::uint64_t hash, bool from_goal, const End& end) {
  const auto [known, is_new] = ChangeTable(from_goal ? from_goal_ : from_start_,
                                           [&](Ends& ends) { return ends.try_emplace(hash, end); });
  if (!is_new) {
    if (end.cost >= known->second.cost) return;
    known->second = end;
  }
  const Ends& others = from_goal ? from_start_ : from_goal_;
  const auto other = others.find(hash);
  if (other == others.end()) return;
  const End& start_end = from_goal ? other->second : end;
  const End& goal_end = from_goal ? end : other->second;
  Offer({.from_start = start_end, .from_goal = goal_end, .hash = hash});
}

void BeamMeeting::Offer(const Pair& pair) {
  if (std::int64_t{pair.from_start.depth} + pair.from_goal.depth > max_length_) return;
  if (!cheapest_ || pair.cost() < cheapest_->cost()) cheapest_ = pair;
}

std::optional<std::vector<Action>> BeamMeeting::CheapestSolution(const BeamPaths& paths,
                                                                 const CostBound& bound) {
  while (cheapest_) {
    if (bound.Excludes(cheapest_->cost())) return std::nullopt;
    const End& from_start = cheapest_->from_start;
    const End& from_goal = cheapest_->from_goal;
    std::vector<Action> actions = paths.PathTo(from_start.index, from_start.depth);
    std::ranges::copy(inverse_.Translate(paths.PathTo(from_goal.index, from_goal.depth)),
                      std::back_inserter(actions));
    std::vector<std::uint8_t> state = start_;
    ApplyAll(domain_, actions, state);
    if (IsGoal(domain_, state)) return actions;
    DropCheapest();  // the hashes of the two positions collide
  }
  return std::nullopt;
}

// Forgets the position of the cheapest pair, and looks for the other pairs again. Collisions are
// too rare to keep a list of pairs.
void BeamMeeting::DropCheapest() {
  from_start_.erase(cheapest_->hash);
  from_goal_.erase(cheapest_->hash);
  cheapest_.reset();
  std::vector<Pair> pairs;
  for (const auto& [hash, end] : from_start_) {
    const auto other = from_goal_.find(hash);
    if (other == from_goal_.end()) continue;
    pairs.push_back({.from_start = end, .from_goal = other->second, .hash = hash});
  }
  // The order of the table differs from run to run.
  std::ranges::sort(pairs, {}, [](const Pair& pair) {
    return std::pair(pair.from_start.depth, pair.from_start.index);
  });
  for (const Pair& pair : pairs) Offer(pair);
}

std::size_t BeamMeeting::BytesWith(std::size_t more) const {
  return BytesOfTable(from_start_, from_start_.size() + more) +
         BytesOfTable(from_goal_, from_goal_.size() + more) + positions_.size() +
         more * start_.size();
}

}  // namespace tandem
