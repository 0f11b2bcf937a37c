#include "search/expander.h"

#include <cstring>

#include "base/parallel.h"
#include "domain/moves.h"
#include "search/hash_set.h"
#include "tandem/permutation.h"

namespace tandem {
namespace {

constexpr std::size_t kParentsPerTask = 256;

// The number of parents whose children ExpandHashes makes at a time. Children of 16 cubes take
// 10 KiB, a third of a small first-level cache.
constexpr std::size_t kParentsInCache = 16;

}  // namespace

Expander::Expander(const Domain& domain, std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      ball_(std::move(ball)),
      least_rest_(std::max(least_unknown(), LeastCost(domain.spec()))),
      permutes_(dynamic_cast<const PermutationDomain*>(&domain) != nullptr),
      grain_(domain.spec().TaskRows(kParentsPerTask)) {}

std::int64_t Expander::BytesFor(const DomainSpec& spec, std::int64_t states) {
  constexpr std::int64_t kIsGoalAndLeftOut = 2;
  return states * static_cast<std::int64_t>(spec.num_actions()) *
         (spec.state_size + kIsGoalAndLeftOut + static_cast<std::int64_t>(sizeof(std::uint64_t)));
}

void Expander::Expand(ConstRows states) {
  Resize(states.size());
  ForRanges(states.size(), grain_, [&](std::size_t first, std::size_t count) {
    ExpandRange(states.Slice(first, count), first);
  });
}

void Expander::Resize(std::size_t states) {
  ResizeChildren(states * domain_.spec().num_actions(), /*with_states=*/true);
}

void Expander::ExpandRange(ConstRows states, std::size_t first) {
  MakeChildren(states, first, ChildrenOf(first, states.size()));
}

void Expander::ExpandHashes(ConstRows states, std::span<const Action> undoing) {
  ResizeChildren(states.size() * domain_.spec().num_actions(), /*with_states=*/!permutes_);
  if (!permutes_) {
    ForRanges(states.size(), grain_, [&](std::size_t first, std::size_t count) {
      MakeChildren(states.Slice(first, count), first, ChildrenOf(first, count), undoing);
    });
    return;
  }
  parents_ = states;
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  ForRanges(states.size(), grain_, [&](std::size_t begin, std::size_t size) {
    std::vector<std::uint8_t> memory(kParentsInCache * num_actions * states.row_size());
    for (std::size_t first = begin; first < begin + size; first += kParentsInCache) {
      const std::size_t count = std::min(kParentsInCache, begin + size - first);
      const Rows children(memory.data(), count * num_actions, states.row_size());
      MakeChildren(states.Slice(first, count), first, children, undoing);
    }
  });
}

void Expander::Step(ConstRows states, std::span<const Action> actions) {
  ResizeForSteps(states.size());
  ForRanges(states.size(), grain_, [&](std::size_t first, std::size_t count) {
    StepRange(states.Slice(first, count), actions.subspan(first, count), first);
  });
}

void Expander::StepRange(ConstRows states, std::span<const Action> actions, std::size_t first) {
  const Rows children(children_.data() + first * states.row_size(), states.size(),
                      states.row_size());
  std::ranges::copy(states.bytes(), children.bytes().begin());
  domain_.Apply(children, actions);
  domain_.IsGoal(children, std::span(is_goal_).subspan(first, children.size()));
  for (std::size_t i = 0; i < children.size(); ++i) {
    is_left_out_[first + i] = std::ranges::equal(children[i], states[i]) ? 1 : 0;
    hashes_[first + i] = HashState(children[i]);
  }
  NoteKnownCosts(first, children);
}

void Expander::ResizeChildren(std::size_t num_children, bool with_states) {
  parents_.reset();
  if (with_states) children_.resize(num_children * domain_.spec().state_size);
  is_goal_.resize(num_children);
  is_left_out_.resize(num_children);
  hashes_.resize(num_children);
  if (ball_ != nullptr) known_costs_.resize(num_children);
}

// The memory for the children of states first, first + 1, ...
Rows Expander::ChildrenOf(std::size_t first, std::size_t states) {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  return {children_.data() + first * num_actions * state_size, states * num_actions, state_size};
}

// Makes the children of `states`, which are states first, first + 1, ... of the batch, and all that
// is kept about them. `undoing` is that of ExpandHashes, for all states of the batch.
void Expander::MakeChildren(ConstRows states, std::size_t first, Rows children,
                            std::span<const Action> undoing) {
  const std::size_t num_actions = domain_.spec().num_actions();
  const std::size_t first_child = first * num_actions;
  domain_.Expand(states, children);
  domain_.IsGoal(children, std::span(is_goal_).subspan(first_child, children.size()));
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::size_t parent = i / num_actions;
    const bool undoes = !undoing.empty() && i % num_actions == undoing[first + parent];
    const bool left_out =
        undoes || std::memcmp(children[i].data(), states[parent].data(), states.row_size()) == 0;
    is_left_out_[first_child + i] = left_out ? 1 : 0;
    if (!undoes) hashes_[first_child + i] = HashState(children[i]);
  }
  NoteKnownCosts(first_child, children);
}

void Expander::NoteKnownCosts(std::size_t first_child, ConstRows children) {
  if (ball_ == nullptr) return;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::size_t child = first_child + i;
    known_costs_[child] = is_left_out_[child] != 0
                              ? std::numeric_limits<float>::infinity()
                              : KnownCostOf(children[i], hashes_[child], is_goal_[child] != 0);
  }
}

float Expander::KnownCostOf(std::span<const std::uint8_t> state, std::uint64_t hash,
                            bool is_goal) const {
  constexpr float kUnknown = std::numeric_limits<float>::infinity();
  if (ball_ == nullptr) return is_goal ? 0 : kUnknown;
  if (const std::optional<float> cost = ball_->CostOf(state, hash)) return *cost;
  if (is_goal) RefuseSecondGoal(domain_, state);
  return kUnknown;
}

ConstRows Expander::Build(std::span<const std::uint32_t> chosen,
                          std::vector<std::uint8_t>& into) const {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  into.resize(chosen.size() * state_size);
  const Rows rows(into.data(), chosen.size(), state_size);
  ForRanges(chosen.size(), grain_, [&](std::size_t first, std::size_t count) {
    std::vector<Action> actions;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::size_t child = chosen[i];
      std::ranges::copy(parents_ ? (*parents_)[child / num_actions] : children()[child],
                        rows[i].begin());
      if (parents_) actions.push_back(static_cast<Action>(child % num_actions));
    }
    if (parents_) domain_.Apply(rows.Slice(first, count), actions);
  });
  return rows;
}

void Expander::KeepBest(std::span<const float> values, std::size_t most) {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  ForRanges(size() / num_actions, grain_, [&](std::size_t first, std::size_t count) {
    std::vector<std::pair<float, std::size_t>> ranked;
    for (std::size_t state = first; state < first + count; ++state) {
      ranked.clear();
      for (std::size_t child = state * num_actions; child < (state + 1) * num_actions; ++child) {
        if (is_left_out_[child] != 0 || !std::isinf(KnownCost(child))) continue;
        ranked.emplace_back(values[child], child);
      }
      if (ranked.size() <= most) continue;
      const auto others = ranked.begin() + static_cast<std::ptrdiff_t>(most);
      std::ranges::nth_element(ranked, others);
      for (auto at = others; at != ranked.end(); ++at) is_left_out_[at->second] = 1;
    }
  });
}

std::int64_t Expander::num_generated() const {
  return std::ranges::count(is_left_out_, std::uint8_t{0});
}

std::vector<Action> Expander::UsefulActions(std::size_t i) const {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  std::vector<Action> actions;
  for (std::size_t action = 0; action < num_actions; ++action) {
    if (is_left_out_[i * num_actions + action] != 0) continue;
    actions.push_back(static_cast<Action>(action));
  }
  return actions;
}

std::vector<Action> Expander::PathToGoal(std::size_t child) const {
  if (ball_ == nullptr) return {};
  const auto chosen = static_cast<std::uint32_t>(child);
  std::vector<std::uint8_t> state;
  return ball_->PathToGoal(Build({&chosen, 1}, state)[0]);
}

std::optional<std::size_t> NumberOfStates(const Domain& domain, std::size_t most) {
  if (domain.spec().inverse_actions.empty() || domain.spec().per_problem_goals) return std::nullopt;
  constexpr std::size_t kStatesAtOnce = 1024;
  const auto state_size = static_cast<std::size_t>(domain.spec().state_size);
  Expander expander(domain);
  std::vector<std::uint8_t> states = GoalOf(domain);  // in the order in which they were found
  HashSet found;
  found.Insert(HashState(states));
  for (std::size_t next = 0; next < found.size();) {
    const std::size_t count = std::min(found.size() - next, kStatesAtOnce);
    expander.Expand({states.data() + next * state_size, count, state_size});
    next += count;
    for (std::size_t child = 0; child < expander.size(); ++child) {
      if (!found.Insert(expander.hashes()[child])) continue;
      if (found.size() > most) return std::nullopt;
      const std::span<const std::uint8_t> state = expander.children()[child];
      states.insert(states.end(), state.begin(), state.end());
    }
  }
  return found.size();
}

}  // namespace tandem
