// Trees of positions of games, and the rules by which simulations descend them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/choices.h"
#include "tandem/evaluator.h"
#include "tandem/game.h"

namespace tandem {

/// GameTreeRule says how simulations choose moves.
///
/// - PUCT: Silver et al., "A general reinforcement learning algorithm that masters chess, shogi,
///   and Go through self-play", Science 2018; "Mastering the game of Go without human
///   knowledge", Nature 2017.
/// - Gumbel: Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022.
struct GameTreeRule {
  GameSearch search = GameSearch::kGumbel;
  std::int64_t simulations = 64;  ///< before each move
};

/// GameTree is the tree of one game: the positions that simulations have met since its root, with
/// their values. It knows no rules of a game and calls no network: GameTrees does both for many
/// trees at once. Values are results for the player to move: -1 is a loss and 1 a win.
///
/// A move takes rule.simulations simulations. The first one evaluates the root unless an earlier
/// move has done that, since MoveTo keeps the part of the tree below the move. Nothing of a
/// simulation remains in the tree until its value is known, and a tree has one simulation at a
/// time, so there is no virtual loss, and the tree depends neither on threads nor on other trees.
///
/// Not thread-safe.
class GameTree {
 public:
  /// What a simulation needs before Receive can end it.
  enum class Step {
    kNothing,  ///< it met the end of a game, and has ended
    kRoot,     ///< the evaluation of the root
    kChild,    ///< the child of parent() by action(), and its evaluation
  };

  explicit GameTree(const GameTreeRule& rule) : rule_(rule) {}

  /// Forgets the tree. `state` becomes the root.
  void Reset(std::span<const std::uint8_t> state);

  /// Begins the simulations of a move. With `random`, moves are drawn for self-play: by Gumbel
  /// noise or, with PUCT, with Dirichlet noise in the root's policy and in proportion to the
  /// visits. Without it, the best moves are chosen.
  void BeginMove(std::optional<Random> random);

  /// Descends to a new position.
  Step Descend();

  std::span<const std::uint8_t> parent() const { return StateOf(parent_); }
  Action action() const { return edges_[edge_].action; }

  /// Adds the position that Descend asked for, and its value to all positions on the way.
  /// `values` is a row of Evaluator::EvaluateWithActions; it is not read if the game is over.
  void Receive(std::span<const std::uint8_t> state, Outcome outcome,
               std::span<const std::uint8_t> legal, std::span<const float> values);

  // After the simulations of a move:

  std::span<const std::uint8_t> root() const { return StateOf(0); }
  Outcome root_outcome() const { return nodes_[0].outcome; }

  /// The search's value of the root: with PUCT, the mean of all simulations; with Gumbel, the mean
  /// of its actions' values under the improved policy.
  float RootValue() const;

  /// Writes the improved policy of the root, a probability for each action of the game.
  void WritePolicy(std::span<float> policy) const;

  /// The move that the search has chosen. Requires that the game is not over.
  Action Choose();

  /// Makes the position after `action` the root. A simulation must have met it.
  void MoveTo(Action action);

  /// The number of positions in the tree, and the memory of these and of their moves.
  std::size_t size() const { return nodes_.size(); }
  std::size_t bytes() const {
    return states_.size() + nodes_.size() * sizeof(Node) + edges_.size() * sizeof(Edge);
  }

 private:
  static constexpr std::uint32_t kNone = 0;  // the root is nobody's child

  struct Node {
    Outcome outcome = Outcome::kOpen;
    bool is_evaluated = false;
    std::uint32_t first_edge = 0;
    std::uint32_t num_edges = 0;
    float value = 0;  // that the network estimated, or of the result
    std::int64_t visits = 0;
    double total = 0;  // sum of the values of all visits

    float MeanValue() const {
      return visits == 0 ? 0 : static_cast<float>(total / static_cast<double>(visits));
    }
  };

  struct Edge {
    Action action = 0;
    float logit = 0;  // logarithm of the network's probability
    std::uint32_t child = kNone;
  };

  // What the simulations of the current move need about an action of the root.
  struct RootAction {
    float gumbel = 0;                // noise of its sum with the improved logit
    float logit = 0;                 // with PUCT, of the network's probability mixed with noise
    std::int64_t visits_before = 0;  // those that earlier moves have left
  };

  std::span<const std::uint8_t> StateOf(std::size_t node) const {
    return std::span(states_).subspan(node * state_size_, state_size_);
  }
  std::int64_t Visits(const Edge& edge) const {
    return edge.child == kNone ? 0 : nodes_[edge.child].visits;
  }
  // Of a visited edge, for the player who moves along it.
  float ValueOf(const Edge& edge) const { return -nodes_[edge.child].MeanValue(); }
  std::span<const Edge> EdgesOf(const Node& node) const {
    return std::span(edges_).subspan(node.first_edge, node.num_edges);
  }

  void PrepareRoot();
  void AddDirichletNoise();
  std::size_t SelectAtRoot();
  std::size_t SelectByPuct(const Node& node) const;
  std::size_t SelectByGumbel(const Node& node) const;
  std::vector<float> CompletedValues(const Node& node) const;
  std::vector<float> ImprovedLogits(const Node& node) const;
  std::size_t BestConsidered(std::int64_t visits, std::span<const float> logits) const;
  void AddEdges(Node& node, std::span<const std::uint8_t> legal, std::span<const float> values);
  void BackUp(float value);

  GameTreeRule rule_;
  std::size_t state_size_ = 0;
  std::vector<std::uint8_t> states_;  // by node
  std::vector<Node> nodes_;           // the root is the first
  std::vector<Edge> edges_;           // by node
  std::vector<std::uint32_t> path_;   // nodes from the root, of the current simulation
  std::size_t parent_ = 0;
  std::size_t edge_ = 0;

  std::optional<Random> random_;
  std::vector<RootAction> root_actions_;  // empty until the root is prepared for the current move
  std::vector<std::int64_t> schedule_;    // of sequential halving: see ConsideredVisits
  std::int64_t simulated_ = 0;            // of the current move
  std::int64_t unprepared_ = 0;           // those before the root was prepared: 0 or 1
};

/// The schedule of sequential halving: simulation i of a move chooses among the considered actions
/// that have had exactly as many visits as element i says. It considers `actions` at first, and
/// half of them after each phase.
std::vector<std::int64_t> ConsideredVisits(std::int64_t actions, std::int64_t simulations);

/// GameTrees lets many trees take their simulations in lock step. For each simulation of all trees,
/// call Descend for ranges of trees that together cover all, on any threads; then Evaluate, on one
/// thread; then BackUp for such ranges. Evaluate passes the positions of all trees to the network
/// in one call, in the order of the trees, so what the network sees depends on the trees alone.
class GameTrees {
 public:
  /// `game` and `network` must outlive this. Throws Error if the network does not estimate both
  /// states and actions' probabilities.
  GameTrees(const GameDomain& game, Evaluator& network, const GameTreeRule& rule);

  void Resize(std::size_t size);
  std::size_t size() const { return trees_.size(); }
  GameTree& operator[](std::size_t i) { return trees_[i]; }

  /// Takes part in the simulations from now on, or no longer.
  void SetActive(std::size_t i, bool active) { active_[i] = active ? 1 : 0; }

  void Descend(std::size_t first, std::size_t count);

  /// The network may block, so do not call this inside a TBB task. Throws Error that names the
  /// state if a value is NaN or if an open game has no legal action, and whatever the network
  /// throws.
  void Evaluate();

  void BackUp(std::size_t first, std::size_t count);

 private:
  std::size_t state_size() const { return static_cast<std::size_t>(game_.spec().state_size); }
  std::size_t num_inputs() const { return static_cast<std::size_t>(game_.spec().input.positions); }
  std::size_t num_actions() const { return static_cast<std::size_t>(game_.spec().num_actions()); }

  // What the simulation of tree i waits for.
  std::span<const std::uint8_t> State(std::size_t i) const {
    return std::span(states_).subspan(i * state_size(), state_size());
  }
  std::span<const std::uint8_t> Legal(std::size_t i) const {
    return std::span(legal_).subspan(i * num_actions(), num_actions());
  }

  const GameDomain& game_;
  Evaluator& network_;
  const GameTreeRule rule_;
  std::vector<GameTree> trees_;
  std::vector<std::uint8_t> active_;

  // By tree: what its simulation waits for.
  std::vector<GameTree::Step> steps_;
  std::vector<std::uint8_t> states_;
  std::vector<Outcome> outcomes_;
  std::vector<std::uint8_t> legal_;
  std::vector<std::uint8_t> inputs_;
  std::vector<std::size_t> row_of_;  // in values_

  std::vector<std::uint8_t> evaluated_inputs_;
  std::vector<float> values_;
};

}  // namespace tandem
