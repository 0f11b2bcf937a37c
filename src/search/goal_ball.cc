#include "search/goal_ball.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "domain/moves.h"
#include "domain/random_walks.h"
#include "search/expander.h"
#include "search/hash_set.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kStatesAtOnce = 8192;
constexpr std::size_t kLookAhead = 12;

[[noreturn]] void Refuse(const DomainSpec& spec, const std::string& why) {
  throw InputError(fmt::format(
      "{}: no ball of states around the goal can be built: {}. Set search.ball_radius and "
      "generate.ball_radius to 0.",
      spec.name, why));
}

// For each action, the cheapest one that undoes it. DomainSpec::inverse_actions names one action,
// but several may have the same effect at different costs.
std::vector<Action> CheapestInverses(const DomainSpec& spec) {
  if (spec.inverse_actions.empty()) Refuse(spec, "some actions have no inverse");
  std::vector<Action> inverses = spec.inverse_actions;
  for (std::size_t a = 0; a < inverses.size(); ++a) {
    Action& inverse = inverses[spec.inverse_actions[a]];
    if (spec.action_costs[a] >= spec.action_costs[inverse]) continue;
    if (spec.masks_actions) {
      Refuse(spec, fmt::format("{} and {} have the same inverse and different costs, and actions "
                               "do not always apply",
                               spec.action_names[a], spec.action_names[inverse]));
    }
    inverse = static_cast<Action>(a);
  }
  return inverses;
}

// Throws InputError if random walks of up to twice the radius meet another goal. It may be nearer
// than the centre to a state of the ball, although it is outside.
void CheckWalksMeetNoSecondGoal(const Domain& domain, std::span<const std::uint8_t> center,
                                float radius) {
  constexpr std::size_t kWalks = 500;
  constexpr float kMostSteps = 100;
  const float steps = std::min(2 * radius / LeastCost(domain.spec()), kMostSteps);
  const std::vector<std::int64_t> lengths(kWalks, static_cast<std::int64_t>(steps));
  std::vector<Random> randoms;
  randoms.reserve(kWalks);
  for (std::size_t i = 0; i < kWalks; ++i) randoms.emplace_back(0, Purpose::kScramble, 0, i);
  RandomWalks walks(domain);
  walks.Begin(randoms, lengths);
  std::vector<std::uint8_t> bytes(kWalks * center.size());
  const Rows states(bytes.data(), kWalks, center.size());
  std::vector<std::uint8_t> is_goal(kWalks);
  while (walks.Step()) {
    for (std::size_t i = 0; i < kWalks; ++i) {
      std::ranges::copy(walks.state(i), states[i].begin());
    }
    domain.IsGoal(ConstRows(states), is_goal);
    for (std::size_t i = 0; i < kWalks; ++i) {
      if (is_goal[i] == 0 || std::ranges::equal(states[i], center)) continue;
      RefuseSecondGoal(domain, states[i]);
    }
  }
}

}  // namespace

// Builds a ball by a uniform-cost search. Nodes with equal costs are expanded together, so with
// equal action costs this is a breadth-first search.
class GoalBall::Builder {
 public:
  Builder(const Domain& domain, GoalBall& ball, double most_cost, std::size_t most_bytes)
      : domain_(domain),
        spec_(domain.spec()),
        ball_(ball),
        most_cost_(most_cost),
        most_bytes_(most_bytes),
        inverses_(CheapestInverses(spec_)),
        least_action_cost_(LeastCost(spec_)),
        expander_(domain) {}

  // Returns true if the ball is complete. If it does not fit into memory, returns false, and
  // completed() is the largest radius that fits.
  bool Run(std::span<const std::uint8_t> center) {
    Add(center, HashState(center), {.cost = 0, .estimate = 0, .parent = 0, .flag = 0}, 0);
    while (!open_.empty()) {
      const std::vector<std::uint32_t> nodes = std::move(open_.begin()->second);
      completed_ = open_.begin()->first;
      open_.erase(open_.begin());
      if (completed_ + least_action_cost_ > most_cost_) {
        NoteOutside(completed_ + least_action_cost_);
        continue;
      }
      for (std::size_t first = 0; first < nodes.size(); first += kStatesAtOnce) {
        const std::size_t count = std::min(kStatesAtOnce, nodes.size() - first);
        if (!Expand(std::span(nodes).subspan(first, count))) return false;
      }
    }
    return true;
  }

  double completed() const { return completed_; }

 private:
  bool Expand(std::span<const std::uint32_t> nodes) {
    parents_.clear();
    states_.clear();
    for (const std::uint32_t node : nodes) {
      if (ball_.nodes_[node].cost != completed_) continue;  // a cheaper way was found
      parents_.push_back(node);
      const std::span<const std::uint8_t> state = ball_.nodes_.state(node);
      states_.insert(states_.end(), state.begin(), state.end());
    }
    expander_.Expand({states_.data(), parents_.size(), static_cast<std::size_t>(spec_.state_size)});
    const auto hashes = expander_.hashes();
    const auto num_actions = static_cast<std::size_t>(spec_.num_actions());
    for (std::size_t i = 0; i < expander_.size(); ++i) {
      if (i + kLookAhead < hashes.size()) {
        ball_.nodes_.Prefetch(hashes[i + kLookAhead]);
      }
      if (expander_.is_left_out()[i] != 0) continue;
      if (!Reach(i, parents_[i / num_actions], static_cast<Action>(i % num_actions))) return false;
    }
    return true;
  }

  // Notes that `action` leads from node `parent` to child `child`, and so its inverse leads back.
  bool Reach(std::size_t child, std::uint32_t parent, Action action) {
    const Action back = inverses_[action];
    const double cost = completed_ + spec_.action_costs[back];
    const std::span<const std::uint8_t> state = expander_.children()[child];
    const std::uint64_t hash = expander_.hashes()[child];
    const std::uint32_t known = ball_.nodes_.Find(state, hash);
    if (known != NodeTable::kNone) {
      if (cost >= ball_.nodes_[known].cost) return true;
      ball_.nodes_.SetPath(known, cost, parent, back);
      open_[cost].push_back(known);
      return true;
    }
    if (cost > most_cost_) {
      NoteOutside(cost);
      return true;
    }
    if (expander_.is_goal()[child] != 0) RefuseSecondGoal(domain_, state);
    if (NodeTable::BytesFor(ball_.size() + 1, state.size()) > most_bytes_) return false;
    Add(state, hash, {.cost = cost, .estimate = 0, .parent = parent, .flag = 0}, back);
    return true;
  }

  void Add(std::span<const std::uint8_t> state, std::uint64_t hash, NodeTable::Node node,
           Action back) {
    open_[node.cost].push_back(static_cast<std::uint32_t>(ball_.size()));
    ball_.nodes_.Add(state, hash, node, back);
  }

  void NoteOutside(double cost) {
    ball_.least_cost_outside_ = std::min(ball_.least_cost_outside_, static_cast<float>(cost));
  }

  const Domain& domain_;
  const DomainSpec& spec_;
  GoalBall& ball_;
  const double most_cost_;  // of a state in the ball
  const std::size_t most_bytes_;
  const std::vector<Action> inverses_;
  const float least_action_cost_;
  Expander expander_;
  double completed_ = 0;  // all states with at most this cost-to-go are in the ball
  std::map<double, std::vector<std::uint32_t>> open_;  // nodes by cost

  // The current batch.
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint8_t> states_;
};

// If the ball does not fit, builds it again with the largest radius that does. Without the states
// beyond that radius, it is usually far smaller than the limit.
GoalBall::GoalBall(const Domain& domain, float radius, std::size_t most_bytes)
    : nodes_(static_cast<std::size_t>(domain.spec().state_size)), radius_(radius) {
  if (domain.spec().per_problem_goals) {
    Refuse(domain.spec(), "each problem has a goal of its own");
  }
  const std::vector<std::uint8_t> center = GoalOf(domain);
  CheckWalksMeetNoSecondGoal(domain, center, radius);
  Builder builder(domain, *this, WithRounding(radius_), most_bytes);
  if (builder.Run(center)) return;
  nodes_ = NodeTable(center.size());
  radius_ = static_cast<float>(builder.completed());
  limited_ = true;
  least_cost_outside_ = std::numeric_limits<float>::infinity();
  Builder(domain, *this, builder.completed(), std::numeric_limits<std::size_t>::max()).Run(center);
}

std::optional<float> GoalBall::CostOf(std::span<const std::uint8_t> state,
                                      std::uint64_t hash) const {
  const std::uint32_t node = nodes_.Find(state, hash);
  if (node == NodeTable::kNone) return std::nullopt;
  return static_cast<float>(nodes_[node].cost);
}

std::optional<float> GoalBall::CostOf(std::span<const std::uint8_t> state) const {
  return CostOf(state, HashState(state));
}

std::vector<Action> GoalBall::PathToGoal(std::span<const std::uint8_t> state) const {
  std::vector<Action> actions;
  for (std::uint32_t node = nodes_.Find(state, HashState(state)); node != 0;
       node = nodes_[node].parent) {
    actions.push_back(nodes_.action(node));
  }
  return actions;
}

void RefuseSecondGoal(const Domain& domain, std::span<const std::uint8_t> goal) {
  Refuse(domain.spec(), "there is more than one goal, for example " + domain.FormatState(goal));
}

std::optional<std::vector<Action>> KnownSolution(const Domain& domain, const GoalBall* ball,
                                                 const CostBound& bound, std::int64_t max_length,
                                                 std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return std::vector<Action>();
  const std::optional<float> cost = ball != nullptr ? ball->CostOf(state) : std::nullopt;
  if (!cost || bound.Excludes(*cost)) return std::nullopt;
  std::vector<Action> way = ball->PathToGoal(state);
  if (std::cmp_greater(way.size(), max_length)) return std::nullopt;
  return way;
}

std::shared_ptr<const GoalBall> MakeGoalBall(const Domain& domain, double radius,
                                             const MemoryConfig& memory) {
  if (radius == 0) return nullptr;
  const Stopwatch watch;
  auto ball = std::make_shared<const GoalBall>(domain, static_cast<float>(radius),
                                               memory.ball_limit_bytes());
  LogInfo(
      fmt::format("ball around the goal: {} states with a cost-to-go of at most {:g}{}, {}, "
                  "built in {}",
                  WithThousands(static_cast<long long>(ball->size())), ball->radius(),
                  ball->limited() ? " (all that memory.ball_limit_gib allows)" : "",
                  HumanBytes(static_cast<double>(ball->bytes())), HumanSeconds(watch.Seconds())));
  return ball;
}

}  // namespace tandem
