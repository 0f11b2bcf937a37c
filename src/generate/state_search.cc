#include "generate/state_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "domain/random_walks.h"
#include "search/best_first_search.h"
#include "search/costs.h"
#include "search/hash_set.h"

namespace tandem {
namespace {

// The key by which a child of cost `cost` is chosen: the child with the least key is chosen with
// probability proportional to exp(-cost / temperature), because adding Gumbel noise to the
// logarithms of probabilities and taking the greatest is a draw. The k least keys are k draws
// without replacement (Kool, van Hoof and Welling, "Stochastic Beams and Where to Find Them", ICML
// 2019). With temperature 0, the cost itself, and no random number is drawn.
double KeyOf(double cost, double temperature, Random& random) {
  if (temperature == 0) return cost;
  return cost + temperature * std::log(-std::log1p(-random.Share()));
}

class GreedyRollout final : public StateSearch {
 public:
  GreedyRollout(const DomainSpec& spec, const GenerateConfig& config)
      : spec_(spec), epsilon_(config.search_epsilon), temperature_(config.temperature) {}

  void Begin(StateBatch& /*batch*/, std::size_t /*first*/) override { back_.reset(); }

  std::size_t Next(StateBatch& batch, std::size_t first, Random random) override {
    const std::size_t first_child = first * spec_.num_actions();
    FindChoices(batch.children.is_left_out().subspan(first_child, spec_.num_actions()));
    if (choices_.empty()) return 0;
    const auto estimates =
        std::span(batch.child_estimates).subspan(first_child, spec_.num_actions());
    const Action action = random.Share() < epsilon_ ? choices_[random.Below(choices_.size())]
                                                    : Choose(estimates, random);
    std::ranges::copy(batch.children.children()[first_child + action], batch.rows()[first].begin());
    batch.bounds[first] += UndoCost(spec_, action);
    batch.estimates[first] = estimates[action];
    if (!spec_.inverse_actions.empty()) back_ = spec_.inverse_actions[action];
    return 1;
  }

 private:
  void FindChoices(std::span<const std::uint8_t> unchanged) {
    choices_.clear();
    for (std::size_t action = 0; action < unchanged.size(); ++action) {
      if (unchanged[action] == 0 && action != back_) {
        choices_.push_back(static_cast<Action>(action));
      }
    }
    if (choices_.empty() && back_) choices_.push_back(*back_);
  }

  Action Choose(std::span<const float> estimates, Random& random) {
    if (temperature_ == 0) return *BestBy(Ranking::kByStates, spec_, choices_, estimates);
    keys_.resize(estimates.size());
    for (const Action action : choices_) {
      keys_[action] = KeyOf(spec_.action_costs[action] + estimates[action], temperature_, random);
    }
    return *BestAction(choices_, [&](Action action) { return keys_[action]; });
  }

  const DomainSpec& spec_;
  const double epsilon_;
  const double temperature_;
  std::optional<Action> back_;   // the action that undoes the last one
  std::vector<Action> choices_;  // actions to choose from in the current step
  std::vector<double> keys_;     // by action
};

// Beam search on one puzzle. All states of a step have the same number of actions behind them.
class BeamStates final : public StateSearch {
 public:
  BeamStates(const DomainSpec& spec, const GenerateConfig& config)
      : spec_(spec),
        width_(static_cast<std::size_t>(config.search_beam_width)),
        temperature_(config.temperature),
        least_cost_(LeastCost(spec)) {}

  void Begin(StateBatch& batch, std::size_t first) override {
    kept_ = {HashState(batch.rows()[first])};
    excess_ = {0};
  }

  std::size_t Next(StateBatch& batch, std::size_t first, Random random) override {
    RankChildren(batch, first, random);
    ranked_.resize(std::min(ranked_.size(), width_));
    if (!ranked_.empty()) KeepRanked(batch, first);
    return ranked_.size();
  }

 private:
  Action ActionTo(std::size_t child) const {
    return static_cast<Action>(child % spec_.num_actions());
  }

  // By how much the path to a child costs more than one of as many of the cheapest actions. If all
  // actions cost the same, that is exactly 0, and the order is that of the estimates.
  float ExcessOf(std::size_t child, std::size_t first) const {
    return excess_[child / spec_.num_actions() - first] + spec_.action_costs[ActionTo(child)] -
           least_cost_;
  }

  // Sorts the new children of all current states by their keys; ties go to the lower index. Of
  // equal children only the one with the least cost is ranked. Otherwise a state with several
  // parents would be drawn more often than its cost says.
  void RankChildren(const StateBatch& batch, std::size_t first, Random& random) {
    ranked_.clear();
    rank_of_.clear();
    const std::size_t begin = first * spec_.num_actions();
    const std::size_t end = begin + excess_.size() * spec_.num_actions();
    for (std::size_t child = begin; child < end; ++child) {
      if (batch.children.is_left_out()[child] != 0) continue;
      const std::uint64_t hash = batch.children.hashes()[child];
      if (kept_.contains(hash)) continue;
      const float cost = batch.child_estimates[child] + ExcessOf(child, first);
      const auto [known, is_new] = rank_of_.try_emplace(hash, ranked_.size());
      if (is_new) {
        ranked_.emplace_back(cost, child);
      } else if (cost < ranked_[known->second].first) {
        ranked_[known->second] = {cost, child};
      }
    }
    for (auto& [key, child] : ranked_) key = KeyOf(key, temperature_, random);
    std::ranges::sort(ranked_);
  }

  void KeepRanked(StateBatch& batch, std::size_t first) {
    std::vector<float> excess;
    std::vector<float> bounds;
    for (const auto& [key, child] : ranked_) {
      kept_.insert(batch.children.hashes()[child]);
      excess.push_back(ExcessOf(child, first));
      bounds.push_back(batch.bounds[child / spec_.num_actions()] +
                       UndoCost(spec_, ActionTo(child)));
    }
    for (std::size_t i = 0; i < ranked_.size(); ++i) {
      const std::size_t child = ranked_[i].second;
      std::ranges::copy(batch.children.children()[child], batch.rows()[first + i].begin());
      batch.bounds[first + i] = bounds[i];
      batch.estimates[first + i] = batch.child_estimates[child];
    }
    excess_ = std::move(excess);
  }

  const DomainSpec& spec_;
  const std::size_t width_;
  const double temperature_;
  const float least_cost_;
  std::unordered_set<std::uint64_t> kept_;                  // hashes of the states expanded so far
  std::vector<float> excess_;                               // by current state: see ExcessOf
  std::vector<std::pair<double, std::size_t>> ranked_;      // keys and children
  std::unordered_map<std::uint64_t, std::size_t> rank_of_;  // by hash: index in ranked_, unsorted
};

// A* on one puzzle, one state per step. It never sees a goal, because the caller starts a new
// search when one is reached. With a ball around the goal, it ends when no open state can lead to a
// cheaper way through the ball.
class AStarSearch final : public StateSearch {
 public:
  AStarSearch(const DomainSpec& spec, double weight)
      : spec_(spec), config_{.weight = weight, .batch = 1, .max_nodes = 0, .max_seconds = 0} {}

  void Begin(StateBatch& batch, std::size_t first) override {
    start_bound_ = batch.bounds[first];
    tree_ = std::make_unique<BestFirstTree>(OpenEntry::kState, spec_, config_, batch.rows()[first]);
    constexpr float kAny = 0;  // no other state is open
    tree_->SetStartValues({&kAny, 1});
    tree_->Pop();
  }

  std::size_t Next(StateBatch& batch, std::size_t first, Random /*random*/) override {
    tree_->Receive(batch.children, first * spec_.num_actions());
    estimates_.clear();
    for (const std::uint32_t child : tree_->fresh()) {
      estimates_.push_back(batch.child_estimates[child]);
    }
    tree_->SetValues(estimates_);
    tree_->Pop();
    if (tree_->num_popped() == 0) return 0;
    tree_->CopyPopped(batch.rows().Slice(first, 1), {});
    batch.estimates[first] = tree_->EstimateOfPopped(0);
    batch.bounds[first] = start_bound_;
    for (const Action action : tree_->PathToPopped(0)) {
      batch.bounds[first] += UndoCost(spec_, action);
    }
    return 1;
  }

 private:
  const DomainSpec& spec_;
  const SearchConfig config_;
  float start_bound_ = 0;
  std::unique_ptr<BestFirstTree> tree_;
  std::vector<float> estimates_;
};

}  // namespace

std::unique_ptr<StateSearch> MakeStateSearch(const DomainSpec& spec, const GenerateConfig& config) {
  switch (config.search) {
    case GenerateSearch::kNone:
      return nullptr;
    case GenerateSearch::kGreedy:
      return std::make_unique<GreedyRollout>(spec, config);
    case GenerateSearch::kBeam:
      return std::make_unique<BeamStates>(spec, config);
    case GenerateSearch::kAStar:
      return std::make_unique<AStarSearch>(spec, config.search_weight);
  }
  return nullptr;  // not reached: the compiler warns of a missing case
}

}  // namespace tandem
