#include "search/game_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/timeline.h"
#include "search/evaluation.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The constants of AlphaZero: the growth of the exploration with the visits, and the share and the
// strength of the noise (its 0.03 for Go, 0.15 for shogi and 0.3 for chess are about 10 per legal
// action).
constexpr double kPuctBase = 19'652;
constexpr double kPuctStart = 1.25;
constexpr double kNoiseShare = 0.25;
constexpr double kNoisePerAction = 10;

// The greatest surprisal of a legal action. A network may give a legal action probability 0, and
// simulations could not compare actions of infinite surprisal.
constexpr float kMostSurprisal = 1e4F;

// The constants of Gumbel AlphaZero: the actions that sequential halving considers, and the weight
// of Q values.
constexpr std::int64_t kMostConsidered = 16;
constexpr float kVisitsOffset = 50;

// Draws from the gamma distribution of this shape and of scale 1 (Marsaglia and Tsang, "A simple
// method for generating gamma variables", 2000).
double DrawGamma(Random& random, double shape) {
  if (shape < 1) {
    const double share = 1 - random.Share();
    return DrawGamma(random, shape + 1) * std::pow(share, 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  while (true) {
    const double radius = std::sqrt(-2 * std::log(1 - random.Share()));
    const double normal = radius * std::cos(2 * std::numbers::pi * random.Share());
    const double cube = 1 + normal / std::sqrt(9 * d);
    if (cube <= 0) continue;
    const double v = cube * cube * cube;
    if (std::log(1 - random.Share()) < normal * normal / 2 + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

float DrawGumbel(Random& random) {
  constexpr double kLeast = 0x1p-60;  // Share may be 0
  return static_cast<float>(-std::log(-std::log(random.Share() + kLeast)));
}

// Turns logits into probabilities.
void Softmax(std::span<float> logits) {
  const float most = *std::ranges::max_element(logits);
  float sum = 0;
  for (float& logit : logits) {
    logit = std::exp(logit - most);
    sum += logit;
  }
  for (float& probability : logits) probability /= sum;
}

}  // namespace

std::vector<std::int64_t> ConsideredVisits(std::int64_t actions, std::int64_t simulations) {
  std::vector<std::int64_t> schedule;
  std::int64_t phases = 1;
  while ((std::int64_t{1} << phases) < actions) ++phases;
  std::int64_t visits = 0;  // that each considered action has had
  for (std::int64_t considered = std::max<std::int64_t>(actions, 1);
       std::cmp_less(schedule.size(), simulations);
       considered = actions == 1 ? 1 : std::max<std::int64_t>(2, considered / 2)) {
    const std::int64_t rounds = std::max<std::int64_t>(1, simulations / (phases * considered));
    for (std::int64_t round = 0; round < rounds; ++round, ++visits) {
      schedule.insert(schedule.end(), static_cast<std::size_t>(considered), visits);
    }
  }
  schedule.resize(static_cast<std::size_t>(simulations));
  return schedule;
}

void GameTree::Reset(std::span<const std::uint8_t> state) {
  state_size_ = state.size();
  states_.assign(state.begin(), state.end());
  nodes_.assign(1, {});
  edges_.clear();
}

void GameTree::BeginMove(std::optional<Random> random) {
  random_ = random;
  root_actions_.clear();
  simulated_ = 0;
}

void GameTree::PrepareRoot() {
  const std::span<const Edge> edges = EdgesOf(nodes_[0]);
  root_actions_.resize(edges.size());
  unprepared_ = simulated_;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    RootAction& action = root_actions_[i];
    action = {.gumbel = 0, .logit = edges[i].logit, .visits_before = Visits(edges[i])};
    if (rule_.search == GameSearch::kGumbel && random_) action.gumbel = DrawGumbel(*random_);
  }
  if (rule_.search == GameSearch::kPuct && random_) AddDirichletNoise();
  if (rule_.search == GameSearch::kGumbel) {
    schedule_ = ConsideredVisits(std::min<std::int64_t>(std::ssize(edges), kMostConsidered),
                                 rule_.simulations - unprepared_);
  }
}

void GameTree::AddDirichletNoise() {
  const double shape = kNoisePerAction / static_cast<double>(root_actions_.size());
  std::vector<double> noise;
  for (std::size_t i = 0; i < root_actions_.size(); ++i) {
    noise.push_back(DrawGamma(*random_, shape));
  }
  const double sum = std::max(std::accumulate(noise.begin(), noise.end(), 0.0),
                              std::numeric_limits<double>::min());
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const double own = std::exp(root_actions_[i].logit);
    root_actions_[i].logit =
        static_cast<float>(std::log((1 - kNoiseShare) * own + kNoiseShare * noise[i] / sum));
  }
}

GameTree::Step GameTree::Descend() {
  path_.assign(1, 0);
  if (!nodes_[0].is_evaluated) {
    ++simulated_;
    return Step::kRoot;
  }
  if (root_actions_.empty()) PrepareRoot();
  edge_ = SelectAtRoot();
  ++simulated_;
  parent_ = 0;
  while (true) {
    if (edges_[edge_].child == kNone) return Step::kChild;
    parent_ = edges_[edge_].child;
    path_.push_back(edges_[edge_].child);
    const Node& node = nodes_[parent_];
    if (node.outcome != Outcome::kOpen) {
      BackUp(node.value);
      return Step::kNothing;
    }
    edge_ = rule_.search == GameSearch::kPuct ? SelectByPuct(node) : SelectByGumbel(node);
  }
}

void GameTree::Receive(std::span<const std::uint8_t> state, Outcome outcome,
                       std::span<const std::uint8_t> legal, std::span<const float> values) {
  if (nodes_[0].is_evaluated) {
    edges_[edge_].child = static_cast<std::uint32_t>(nodes_.size());
    path_.push_back(edges_[edge_].child);
    nodes_.emplace_back();
    states_.insert(states_.end(), state.begin(), state.end());
  }
  Node& node = nodes_[path_.back()];
  node.is_evaluated = true;
  node.outcome = outcome;
  if (outcome == Outcome::kOpen) {
    node.value = std::clamp(1 - values[0], -1.0F, 1.0F);
    AddEdges(node, legal, values.subspan(1));
  } else {
    node.value = static_cast<float>(ResultOf(outcome));
  }
  BackUp(node.value);
}

// Gives the legal actions the probabilities of the policy, divided by their sum.
void GameTree::AddEdges(Node& node, std::span<const std::uint8_t> legal,
                        std::span<const float> values) {
  node.first_edge = static_cast<std::uint32_t>(edges_.size());
  float least = kMostSurprisal;
  for (std::size_t a = 0; a < legal.size(); ++a) {
    if (legal[a] != 0) least = std::min(least, values[a]);
  }
  float sum = 0;
  for (std::size_t a = 0; a < legal.size(); ++a) {
    if (legal[a] == 0) continue;
    edges_.push_back(
        {.action = static_cast<Action>(a), .logit = least - std::min(values[a], kMostSurprisal)});
    sum += std::exp(edges_.back().logit);
  }
  node.num_edges = static_cast<std::uint32_t>(edges_.size()) - node.first_edge;
  for (std::size_t i = node.first_edge; i < edges_.size(); ++i) edges_[i].logit -= std::log(sum);
}

void GameTree::BackUp(float value) {
  for (auto node = path_.rbegin(); node != path_.rend(); ++node, value = -value) {
    ++nodes_[*node].visits;
    nodes_[*node].total += value;
  }
}

std::size_t GameTree::SelectAtRoot() {
  if (rule_.search == GameSearch::kPuct) return SelectByPuct(nodes_[0]);
  const std::int64_t visits = schedule_[static_cast<std::size_t>(simulated_ - unprepared_)];
  return nodes_[0].first_edge + BestConsidered(visits, ImprovedLogits(nodes_[0]));
}

// Among the root's actions with so many visits since the move began, returns the one with the
// greatest sum of Gumbel noise and improved logit.
std::size_t GameTree::BestConsidered(std::int64_t visits, std::span<const float> logits) const {
  const std::span<const Edge> edges = EdgesOf(nodes_[0]);
  std::size_t best = 0;
  float most = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (Visits(edges[i]) - root_actions_[i].visits_before != visits) continue;
    const float score = root_actions_[i].gumbel + logits[i];
    if (score > most) best = i;
    most = std::max(most, score);
  }
  return best;
}

// An action that has not been tried counts with the mean value of the position.
std::size_t GameTree::SelectByPuct(const Node& node) const {
  const auto visits = static_cast<double>(node.visits);
  const double exploration =
      (std::log((1 + visits + kPuctBase) / kPuctBase) + kPuctStart) * std::sqrt(visits);
  const bool is_root = &node == nodes_.data();
  std::size_t best = node.first_edge;
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < node.num_edges; ++i) {
    const Edge& edge = edges_[node.first_edge + i];
    const float logit = is_root ? root_actions_[i].logit : edge.logit;
    const std::int64_t tried = Visits(edge);
    const double score = (tried > 0 ? ValueOf(edge) : node.MeanValue()) +
                         exploration * std::exp(logit) / static_cast<double>(1 + tried);
    if (score > most) best = node.first_edge + i;
    most = std::max(most, score);
  }
  return best;
}

// Returns the completed Q values: the mean values of tried actions and, for the others, a value
// that mixes the network's estimate of the position with the values of the tried actions.
std::vector<float> GameTree::CompletedValues(const Node& node) const {
  const std::span<const Edge> edges = EdgesOf(node);
  float probability = 0;  // of the tried actions
  float value = 0;
  float visits = 0;
  for (const Edge& edge : edges) {
    if (Visits(edge) == 0) continue;
    const float share = std::exp(edge.logit);
    probability += share;
    value += share * ValueOf(edge);
    visits += static_cast<float>(Visits(edge));
  }
  float mixed = node.value;
  if (visits > 0) {
    const float mean = value / std::max(probability, std::numeric_limits<float>::min());
    mixed = (node.value + visits * mean) / (1 + visits);
  }
  std::vector<float> values;
  for (const Edge& edge : edges) values.push_back(Visits(edge) > 0 ? ValueOf(edge) : mixed);
  return values;
}

// Returns the logits of the improved policy: those of the network plus a multiple of the completed
// Q values, on a scale from 0 for a loss to 1 for a win.
std::vector<float> GameTree::ImprovedLogits(const Node& node) const {
  const std::span<const Edge> edges = EdgesOf(node);
  std::int64_t most = 0;
  for (const Edge& edge : edges) most = std::max(most, Visits(edge));
  const float scale = kVisitsOffset + static_cast<float>(most);
  std::vector<float> logits = CompletedValues(node);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    logits[i] = edges[i].logit + scale * (logits[i] + 1) / 2;
  }
  return logits;
}

float GameTree::RootValue() const {
  if (rule_.search == GameSearch::kPuct) return nodes_[0].MeanValue();
  const std::vector<float> values = CompletedValues(nodes_[0]);
  std::vector<float> policy = ImprovedLogits(nodes_[0]);
  Softmax(policy);
  return std::inner_product(values.begin(), values.end(), policy.begin(), 0.0F);
}

// Takes the action whose share of the visits lags most behind its probability.
std::size_t GameTree::SelectByGumbel(const Node& node) const {
  std::vector<float> policy = ImprovedLogits(node);
  Softmax(policy);
  std::size_t best = 0;
  float most = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < policy.size(); ++i) {
    const float lag = policy[i] - static_cast<float>(Visits(edges_[node.first_edge + i])) /
                                      static_cast<float>(node.visits);
    if (lag > most) best = i;
    most = std::max(most, lag);
  }
  return node.first_edge + best;
}

void GameTree::WritePolicy(std::span<float> policy) const {
  std::ranges::fill(policy, 0.0F);
  const std::span<const Edge> edges = EdgesOf(nodes_[0]);
  std::vector<float> shares;
  if (rule_.search == GameSearch::kGumbel) {
    shares = ImprovedLogits(nodes_[0]);
    Softmax(shares);
  } else {
    float visits = 0;
    for (const Edge& edge : edges) visits += static_cast<float>(Visits(edge));
    for (const Edge& edge : edges) {
      shares.push_back(static_cast<float>(Visits(edge)) / std::max(visits, 1.0F));
    }
  }
  for (std::size_t i = 0; i < edges.size(); ++i) policy[edges[i].action] = shares[i];
}

Action GameTree::Choose() {
  const std::span<const Edge> edges = EdgesOf(nodes_[0]);
  std::int64_t most = 0;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const bool only_new = rule_.search == GameSearch::kGumbel;
    const std::int64_t before = only_new ? root_actions_[i].visits_before : 0;
    most = std::max(most, Visits(edges[i]) - before);
    all += Visits(edges[i]);
  }
  if (rule_.search == GameSearch::kGumbel) {
    return edges[BestConsidered(most, ImprovedLogits(nodes_[0]))].action;
  }
  if (!random_) {
    const auto visits = [&](const Edge& edge) { return Visits(edge); };
    return std::ranges::max_element(edges, {}, visits)->action;
  }
  auto remaining = static_cast<std::int64_t>(random_->Below(static_cast<std::uint64_t>(all)));
  for (const Edge& edge : edges) {
    remaining -= Visits(edge);
    if (remaining < 0) return edge.action;
  }
  return edges.back().action;  // not reached
}

void GameTree::MoveTo(Action action) {
  const std::span<const Edge> edges = EdgesOf(nodes_[0]);
  const auto edge = std::ranges::find(edges, action, &Edge::action);
  if (edge == edges.end() || edge->child == kNone) {
    throw Error("a move leads out of the search tree; this is a bug in Tandem");
  }
  // Copies the nodes below the move level by level. Nodes hold old numbers until they are copied.
  std::vector<std::uint32_t> old_numbers = {edge->child};
  std::vector<Node> nodes;
  std::vector<Edge> kept;
  std::vector<std::uint8_t> states;
  for (std::size_t i = 0; i < old_numbers.size(); ++i) {
    Node& node = nodes.emplace_back(nodes_[old_numbers[i]]);
    const std::span<const std::uint8_t> state = StateOf(old_numbers[i]);
    states.insert(states.end(), state.begin(), state.end());
    const std::span<const Edge> below = EdgesOf(node);
    node.first_edge = static_cast<std::uint32_t>(kept.size());
    for (Edge copy : below) {
      if (copy.child != kNone) {
        old_numbers.push_back(copy.child);
        copy.child = static_cast<std::uint32_t>(old_numbers.size() - 1);
      }
      kept.push_back(copy);
    }
  }
  nodes_ = std::move(nodes);
  edges_ = std::move(kept);
  states_ = std::move(states);
  root_actions_.clear();
}

GameTrees::GameTrees(const GameDomain& game, Evaluator& network, const GameTreeRule& rule)
    : game_(game), network_(network), rule_(rule) {
  if (network.estimates_states() && network.action_values() == ActionValues::kSurprisals) return;
  throw Error(
      "a search in games needs an evaluator that estimates states and has a policy, as a network "
      "with network.head vp");
}

void GameTrees::Resize(std::size_t size) {
  trees_.resize(size, GameTree(rule_));
  active_.assign(size, 1);
  steps_.resize(size);
  states_.resize(size * state_size());
  outcomes_.resize(size);
  legal_.resize(size * num_actions());
  inputs_.resize(size * num_inputs());
  row_of_.resize(size);
}

void GameTrees::Descend(std::size_t first, std::size_t count) {
  std::vector<std::size_t> waiting;  // trees
  std::vector<std::uint8_t> states;
  std::vector<Action> actions;
  const auto add = [&](std::size_t tree, std::span<const std::uint8_t> state) {
    waiting.push_back(tree);
    states.insert(states.end(), state.begin(), state.end());
  };
  for (std::size_t i = first; i < first + count; ++i) {
    steps_[i] = active_[i] != 0 ? trees_[i].Descend() : GameTree::Step::kNothing;
    if (steps_[i] != GameTree::Step::kChild) continue;
    add(i, trees_[i].parent());
    actions.push_back(trees_[i].action());
  }
  game_.Apply(Rows(states.data(), waiting.size(), state_size()), actions);
  for (std::size_t i = first; i < first + count; ++i) {
    if (steps_[i] == GameTree::Step::kRoot) add(i, trees_[i].root());
  }
  const ConstRows rows(states.data(), waiting.size(), state_size());
  std::vector<Outcome> outcomes(rows.size());
  std::vector<std::uint8_t> legal(rows.size() * num_actions());
  std::vector<std::uint8_t> inputs(rows.size() * num_inputs());
  game_.Outcomes(rows, outcomes);
  game_.Mask(rows, legal);
  game_.Encode(rows, Rows(inputs.data(), rows.size(), num_inputs()));
  const auto copy = [](const auto& from, std::size_t i, auto& to, std::size_t tree, std::size_t n) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * n), n,
                to.begin() + static_cast<std::ptrdiff_t>(tree * n));
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    outcomes_[waiting[i]] = outcomes[i];
    copy(states, i, states_, waiting[i], state_size());
    copy(legal, i, legal_, waiting[i], num_actions());
    copy(inputs, i, inputs_, waiting[i], num_inputs());
  }
}

void GameTrees::Evaluate() {
  evaluated_inputs_.clear();
  std::vector<std::size_t> trees;
  for (std::size_t i = 0; i < size(); ++i) {
    if (steps_[i] == GameTree::Step::kNothing || outcomes_[i] != Outcome::kOpen) continue;
    if (std::ranges::count(Legal(i), 1) == 0) {
      throw Error(fmt::format("domain '{}': the game goes on in state {}, yet no action applies",
                              game_.spec().name, game_.FormatState(State(i))));
    }
    row_of_[i] = trees.size();
    trees.push_back(i);
    const auto input = std::span(inputs_).subspan(i * num_inputs(), num_inputs());
    evaluated_inputs_.insert(evaluated_inputs_.end(), input.begin(), input.end());
  }
  values_.resize(trees.size() * (1 + num_actions()));
  if (trees.empty()) return;
  const Span span(Activity::kEvaluate);
  network_.EvaluateWithActions(ConstRows(evaluated_inputs_.data(), trees.size(), num_inputs()),
                               values_);
  const auto wrong = std::ranges::find_if(values_, [](float value) { return std::isnan(value); });
  if (wrong == values_.end()) return;
  const std::size_t tree =
      trees[static_cast<std::size_t>(wrong - values_.begin()) / (1 + num_actions())];
  throw NanEstimate(game_, State(tree));
}

void GameTrees::BackUp(std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (steps_[i] == GameTree::Step::kNothing) continue;
    const std::size_t width = 1 + num_actions();
    const bool is_open = outcomes_[i] == Outcome::kOpen;
    trees_[i].Receive(State(i), outcomes_[i], Legal(i),
                      is_open ? std::span<const float>(values_).subspan(row_of_[i] * width, width)
                              : std::span<const float>());
  }
}

}  // namespace tandem
