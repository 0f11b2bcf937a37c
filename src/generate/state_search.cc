#include "generate/state_search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "domain/random_walk.h"
#include "search/astar.h"

namespace tandem {
namespace {

class GreedyRollout final : public StateSearch {
 public:
  GreedyRollout(const DomainSpec& spec, double epsilon) : spec_(spec), epsilon_(epsilon) {}

  void Begin(StateBatch& /*batch*/, std::size_t /*i*/) override { back_.reset(); }

  bool Next(StateBatch& batch, std::size_t i, Random random) override {
    const std::size_t first_child = i * spec_.num_actions();
    FindChoices(batch.children.unchanged().subspan(first_child, spec_.num_actions()));
    if (choices_.empty()) return false;
    const auto estimates = batch.children.estimates().subspan(first_child, spec_.num_actions());
    const Action action = random.Share() < epsilon_ ? choices_[random.Below(choices_.size())]
                                                    : *GreedyAction(spec_, choices_, estimates);
    std::ranges::copy(batch.children.children()[first_child + action], batch.rows()[i].begin());
    batch.bounds[i] += UndoCost(spec_, action);
    if (!spec_.inverse_actions.empty()) back_ = spec_.inverse_actions[action];
    return true;
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

  const DomainSpec& spec_;
  const double epsilon_;
  std::optional<Action> back_;   // the action that undoes the last one
  std::vector<Action> choices_;  // actions to choose from in the current step
};

// A* on one puzzle, one state per step. It never sees a goal, because the caller starts a new
// search when one is reached. With a ball around the goal, it ends when no open state can lead to a
// cheaper way through the ball.
class AStarSearch final : public StateSearch {
 public:
  AStarSearch(const DomainSpec& spec, double weight)
      : spec_(spec), config_{.weight = weight, .batch = 1, .max_nodes = 0, .max_seconds = 0} {}

  void Begin(StateBatch& batch, std::size_t i) override {
    start_bound_ = batch.bounds[i];
    tree_ = std::make_unique<AStarTree>(spec_, config_, batch.rows()[i]);
    tree_->SetStartEstimate(0);  // any value will do, since no other state is open
    tree_->Pop();
  }

  bool Next(StateBatch& batch, std::size_t i, Random /*random*/) override {
    tree_->Receive(batch.children, i * spec_.num_actions());
    estimates_.clear();
    for (const std::uint32_t child : tree_->fresh()) {
      estimates_.push_back(batch.children.estimates()[child]);
    }
    tree_->SetEstimates(estimates_);
    tree_->Pop();
    if (tree_->num_popped() == 0) return false;
    tree_->CopyPopped(batch.rows().Slice(i, 1));
    batch.bounds[i] = start_bound_;
    for (const Action action : tree_->PathToPopped(0)) batch.bounds[i] += UndoCost(spec_, action);
    return true;
  }

 private:
  const DomainSpec& spec_;
  const SearchConfig config_;
  float start_bound_ = 0;
  std::unique_ptr<AStarTree> tree_;
  std::vector<float> estimates_;
};

}  // namespace

std::unique_ptr<StateSearch> MakeStateSearch(const DomainSpec& spec, const GenerateConfig& config) {
  switch (config.search) {
    case GenerateSearch::kNone:
      return nullptr;
    case GenerateSearch::kGreedy:
      return std::make_unique<GreedyRollout>(spec, config.search_epsilon);
    case GenerateSearch::kAStar:
      return std::make_unique<AStarSearch>(spec, config.search_weight);
  }
  return nullptr;  // not reached: the compiler warns of a missing case
}

}  // namespace tandem
