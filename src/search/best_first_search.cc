#include "search/best_first_search.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/parallel.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "search/evaluation.h"
#include "search/goal_ball.h"
#include "search/hash_set.h"
#include "search/search.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// A search that is this close to greedy gains little from a lower weight.
constexpr double kLowWeight = 0.1;

// Below this batch size, most of a step is the fixed cost of calling the network.
constexpr std::int64_t kSmallBatch = 100;

std::string LowerWeight(const SearchConfig& config) {
  if (config.weight <= kLowWeight) return "";
  return fmt::format("lower search.weight ({:g}), or ", config.weight);
}

// BestFirstSearch searches puzzles by a BestFirstTree each, search.instances at a time. In each
// step, all trees pop entries, and the evaluations that they need are made together. Puzzles start
// in their order and finish in any. The time of a step is divided evenly among its trees.
class BestFirstSearch final : public Search {
 public:
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) final {
    std::vector<Running> running;
    Stopwatch timer;
    for (std::size_t next = 0; next < problems.size() || !running.empty();) {
      const std::size_t old = running.size();
      for (; std::cmp_less(running.size(), config_.instances) && next < problems.size(); ++next) {
        running.push_back({.number = next, .tree = MakeTree(problems, next)});
      }
      EvaluateStarts(problems, std::span(running).subspan(old), stop);
      if (stop.Reached()) throw Stopped();
      Step(running, stop);
      const double share = timer.Lap() / static_cast<double>(running.size());
      for (const Running& each : running) each.tree->AddSeconds(share);
      for (const Running& each : running) {
        if (each.tree->ended()) done(each.number, each.tree->Result());
      }
      std::erase_if(running, [](const Running& each) { return each.tree->ended(); });
    }
  }

  std::string Describe() const override {
    return fmt::format("{} with weight {:g}", name(), config_.weight);
  }

  std::string_view MainKey() const override { return "search.weight"; }

  std::string Failure(const SearchResult& result) const override {
    if (result.stop_reason == StopReason::kTimeLimit && config_.batch < kSmallBatch) {
      return fmt::format(
          "{}; raise search.batch ({}): the search generated only {} nodes per second",
          NotInTime(config_), config_.batch,
          WithThousands(
              static_cast<long long>(static_cast<double>(result.nodes) / result.seconds)));
    }
    std::string at_limit =
        AtLimit(config_, result.stop_reason, LowerWeight(config_), result.stored);
    if (!at_limit.empty()) return at_limit;
    if (result.stop_reason == StopReason::kCostLimit) {
      if (config_.policy_actions == 0) {
        return fmt::format("no solution costs at most {}; raise the limit", AllowedCost());
      }
      return fmt::format(
          "no solution of the {} most probable actions of each state costs at most {}; raise the "
          "limit or search.policy_actions",
          config_.policy_actions, AllowedCost());
    }
    if (config_.policy_actions > 0) return NotAmongProbable(config_);
    return fmt::format("the puzzle has no solution: none of the {} reachable states is a goal",
                       WithThousands(result.stored));
  }

  // Says how much memory the node limit takes, because memory grows with the nodes: an upper
  // bound, plus 12 bytes per entry whenever a cheaper path to a known state is found.
  std::string DescribeMemory() const {
    const auto bytes_for = [&](std::int64_t nodes) {
      const auto entries_of_node =
          static_cast<std::int64_t>(entry_ == OpenEntry::kState ? 1 : domain_.spec().num_actions());
      return NodeTable::BytesFor(static_cast<std::size_t>(nodes),
                                 static_cast<std::size_t>(domain_.spec().state_size)) +
             OpenList::BytesFor(static_cast<std::size_t>(nodes * entries_of_node));
    };
    std::string text = fmt::format("{}: weight {:g}, up to {} states at a time", name(),
                                   config_.weight, WithThousands(config_.batch));
    if (config_.instances > 1) text += fmt::format(" of each of {} puzzles", config_.instances);
    const std::int64_t most = BestFirstTree::MostStored(config_);
    if (most == 0) {
      constexpr std::int64_t kMany = 1'000'000;
      return text + fmt::format(", {} bytes per node and no limit", bytes_for(kMany) / kMany);
    }
    return text + fmt::format("; at most {} nodes, which take {}{}", WithThousands(most),
                              HumanBytes(static_cast<double>(bytes_for(most))),
                              config_.instances > 1 ? ", for each" : "");
  }

  // Throws Error if the network gives no values for the entries, and InputError if a step makes
  // more children than 32 bits can number.
  BestFirstSearch(OpenEntry entry, const Domain& domain, Evaluator& network, const Config& config,
                  std::shared_ptr<const GoalBall> ball)
      : entry_(entry),
        domain_(domain),
        config_(config.search),
        ball_(std::move(ball)),
        children_of_entry_(
            entry == OpenEntry::kState ? static_cast<std::size_t>(domain.spec().num_actions()) : 1),
        follows_policy_(network.action_values() == ActionValues::kSurprisals &&
                        config.search.policy_actions > 0),
        expander_(domain, ball_),
        evaluator_(domain, network, RowsPerCall(config)) {
    const double children = static_cast<double>(config_.instances) *
                            static_cast<double>(config_.batch) *
                            static_cast<double>(children_of_entry_);
    if (children > std::numeric_limits<std::uint32_t>::max()) {
      throw InputError(fmt::format(
          "search.instances: {} and search.batch: {} make {:.0f} children at a time, expected at "
          "most {}",
          config_.instances, config_.batch, children, std::numeric_limits<std::uint32_t>::max()));
    }
    if (entry == OpenEntry::kState) {
      CheckEstimatesStates(name(), network);
    } else if (network.action_values() != ActionValues::kQValues) {
      throw Error("Q* needs an evaluator whose values of actions are Q values");
    }
  }

 private:
  // The search of one puzzle among several.
  struct Running {
    std::size_t number = 0;  // index of the puzzle
    std::unique_ptr<BestFirstTree> tree;
    std::size_t first_state = 0;  // of the tree, among the states of the current step
    std::size_t first_fresh = 0;  // of the tree, among the states that need values
  };

  // Makes a tree, which has ended if the start is a goal or lies in the ball.
  std::unique_ptr<BestFirstTree> MakeTree(const ProblemBatch& problems, std::size_t number) const {
    const std::span<const std::uint8_t> start = problems.states[number];
    const float at_most = problems.AtMost(number, config_.at_most);
    auto tree = std::make_unique<BestFirstTree>(entry_, domain_.spec(), config_, start, at_most);
    std::optional<std::vector<Action>> known =
        KnownSolution(domain_, ball_.get(), CostBound(at_most), kAnyLength, start);
    if (known) tree->SetSolution(std::move(*known));
    return tree;
  }

  // Evaluates the starts of trees that were just made.
  void EvaluateStarts(const ProblemBatch& problems, std::span<Running> running,
                      const StopSignal& stop) {
    states_.clear();
    std::vector<BestFirstTree*> trees;
    for (const Running& each : running) {
      if (each.tree->ended()) continue;
      trees.push_back(each.tree.get());
      std::ranges::copy(problems.states[each.number], std::back_inserter(states_));
    }
    if (trees.empty()) return;
    const std::span<const float> values =
        Evaluate({states_.data(), trees.size(), problems.states.row_size()}, stop);
    const std::size_t width = values.size() / trees.size();
    for (std::size_t i = 0; i < trees.size(); ++i) {
      trees[i]->SetStartValues(values.subspan(i * width, width));
    }
  }

  // Makes one step of all trees.
  void Step(std::span<Running> running, const StopSignal& stop) {
    MakeChildren(running, stop);
    ForEach(running.size(), [&](std::size_t i) {
      running[i].tree->Receive(expander_, running[i].first_state * children_of_entry_);
    });
    fresh_.clear();
    for (Running& each : running) {
      each.first_fresh = fresh_.size();
      fresh_.insert(fresh_.end(), each.tree->fresh().begin(), each.tree->fresh().end());
    }
    if (fresh_.empty()) return;
    const std::span<const float> values = Evaluate(expander_.Build(fresh_, fresh_states_), stop);
    const std::size_t width = values.size() / fresh_.size();
    ForEach(running.size(), [&](std::size_t i) {
      BestFirstTree& tree = *running[i].tree;
      tree.SetValues(values.subspan(running[i].first_fresh * width, tree.fresh().size() * width));
    });
  }

  // Pops the entries that all trees take next, and makes their children.
  void MakeChildren(std::span<Running> running, const StopSignal& stop) {
    ForEach(running.size(), [&](std::size_t i) { running[i].tree->Pop(); });
    std::size_t count = 0;
    for (Running& each : running) {
      each.first_state = count;
      count += each.tree->num_popped();
    }
    const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
    states_.resize(count * state_size);
    actions_.resize(count);
    const Rows states(states_.data(), count, state_size);
    ForEach(running.size(), [&](std::size_t i) {
      const auto [first, popped] = std::pair(running[i].first_state, running[i].tree->num_popped());
      running[i].tree->CopyPopped(states.Slice(first, popped),
                                  std::span(actions_).subspan(first, popped));
    });
    if (entry_ == OpenEntry::kAction) return expander_.Step(states, actions_);
    expander_.Expand(states);
    if (!follows_policy_) return;
    expander_.KeepBest(evaluator_.EvaluateActions(states, stop),
                       static_cast<std::size_t>(config_.policy_actions));
  }

  std::span<const float> Evaluate(ConstRows states, const StopSignal& stop) {
    return entry_ == OpenEntry::kState ? evaluator_.Estimate(states, stop)
                                       : evaluator_.EvaluateActions(states, stop);
  }

  const char* name() const { return entry_ == OpenEntry::kState ? "A*" : "Q*"; }

  const OpenEntry entry_;
  const Domain& domain_;
  const SearchConfig config_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const std::size_t children_of_entry_;
  const bool follows_policy_;  // expands only probable actions
  Expander expander_;
  BatchEvaluator evaluator_;

  // Of the current step, over all puzzles.
  std::vector<std::uint8_t> states_;
  std::vector<Action> actions_;
  std::vector<std::uint32_t> fresh_;
  std::vector<std::uint8_t> fresh_states_;
};

std::unique_ptr<Search> WithMemoryLogged(std::unique_ptr<BestFirstSearch> search) {
  LogInfo(search->DescribeMemory());
  return search;
}

}  // namespace

// A* is batched and weighted (BWAS; Agostinelli et al. 2019, DeepCubeA). It
// expands the states with the least weight * cost + estimate first, search.batch states of each
// puzzle per step. Many puzzles advance in lock step. Each state is evaluated once. The estimate
// of a goal is 0.
//
// A state of a ball around the goal counts as a goal whose solution goes on with the path to the
// goal. Such states are neither stored nor expanded. Their costs are exact, so the bounds below
// hold.
//
// A search keeps the cheapest solution found so far. It ends when no open state has a value below
// weight * cost of that solution. A closed state to which a cheaper path is found is opened again.
// If the estimates are never above the true cost-to-go, these bounds hold for every batch size:
//   - weight >= 1: the solution has the least cost;
//   - 0 < weight < 1: its cost is at most 1 / weight times the least;
//   - weight 0 (greedy best-first search): no bound; the first solution found is returned.
// Values are 32-bit floats, so "least" holds up to their rounding.
//
// With head vp and search.policy_actions, A* expands only that many of the most probable actions
// of a state, by one more evaluation per expanded state, and those that lead to a goal or into the
// ball (as in DeepXube's graph_v_p). The bounds then hold among the solutions that remain.
//
// States are compared by all their bytes. Without time limits, results do not depend on the number
// of threads, nor on which puzzles are solved at the same time, except that the evaluator's
// rounding may depend on its batch.
std::unique_ptr<Search> MakeAStar(const Domain& domain, Evaluator& network, const Config& config,
                                  std::shared_ptr<const GoalBall> ball) {
  return WithMemoryLogged(std::make_unique<BestFirstSearch>(OpenEntry::kState, domain, network,
                                                            config, std::move(ball)));
}

// Q* is best-first search on actions (Agostinelli et al. 2021, "A* Search
// Without Expansions: Learning Heuristic Functions with Deep Q-Networks"). An open entry is an
// action in a known state. Its value is that of the child in A*, because a Q value is the cost of
// an action plus the cost-to-go of its result. A child is made only when its entry is taken, and
// one evaluation of it gives the values of all its children. So Q* makes and evaluates a child
// where A* makes and evaluates all children of a state.
//
// Batches, the ball and bounds are as in A*, for Q values that are never above the true ones. A
// state to which a cheaper path is found is evaluated again, which takes less memory than keeping
// its values. Actions that undo the last one are not taken.
//
// search.max_nodes limits the distinct states that are stored. Each of them has up to num_actions
// open entries, of 8 to 12 bytes.
std::unique_ptr<Search> MakeQStar(const Domain& domain, Evaluator& network, const Config& config,
                                  std::shared_ptr<const GoalBall> ball) {
  return WithMemoryLogged(std::make_unique<BestFirstSearch>(OpenEntry::kAction, domain, network,
                                                            config, std::move(ball)));
}

}  // namespace tandem
