#include "search/game_search.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "search/costs.h"
#include "search/expander.h"
#include "search/game_tree.h"
#include "search/loops.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kTreesPerTask = 16;

// BestPlaySearch plays games from the given positions to their end: see MakeGameSearch.
class BestPlaySearch final : public Search {
 public:
  BestPlaySearch(const GameDomain& game, Evaluator& network, const SearchConfig& config)
      : game_(game),
        config_(config),
        trees_(game, network,
               {.search =
                    config.method == SearchMethod::kPuct ? GameSearch::kPuct : GameSearch::kGumbel,
                .simulations = config.simulations}) {}

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    SolveInGroups(
        problems, stop, done, [&](const ProblemBatch& group) { return Begin(group); },
        [&](Line& line) { CheckLimits(line); },
        [&](std::vector<Line>& lines) { MoveAll(lines, stop); },
        [&](Line& line) { return ResultOf(line); });
  }

  std::string Describe() const override {
    return fmt::format("{} with {} simulations a move", NameOf(kSearchMethods, config_.method),
                       WithThousands(config_.simulations));
  }
  std::string_view MainKey() const override { return "search.simulations"; }

  std::string Failure(const SearchResult& result) const override {
    std::string at_limit = AtLimit(config_, result.stop_reason);
    if (!at_limit.empty()) return at_limit;
    return fmt::format("the game does not end with at most {}", AllowedCost());
  }

 private:
  // The moves from one position so far.
  struct Line {
    std::size_t number;  // of the position
    CostBound bound;
    SearchResult result = {};
    float estimate = 0;  // of the first position
    std::optional<StopReason> stop_reason = std::nullopt;
  };

  std::vector<Line> Begin(const ProblemBatch& problems) {
    trees_.Resize(problems.size());
    std::vector<Line> lines;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      trees_[i].Reset(problems.states[i]);
      Line& line = lines.emplace_back(
          Line{.number = i, .bound = CostBound(problems.AtMost(i, config_.at_most))});
      if (IsGoal(game_, problems.states[i])) line.stop_reason = StopReason::kSolved;
    }
    return lines;
  }

  void CheckLimits(Line& line) const {
    const auto moves = std::ssize(line.result.actions);
    if (moves >= config_.max_length) {
      line.stop_reason = StopReason::kLengthLimit;
    } else if (line.bound.Excludes(static_cast<double>(moves) + LeastCost(game_.spec()))) {
      line.stop_reason = StopReason::kCostLimit;
    } else if (config_.max_seconds > 0 && line.result.seconds >= config_.max_seconds) {
      line.stop_reason = StopReason::kTimeLimit;
    } else {
      line.stop_reason = WorkLimitExceeded(config_, line.result.nodes, line.result.bytes);
    }
  }

  // Makes one move in each of the games.
  void MoveAll(std::vector<Line>& lines, const StopSignal& stop) {
    for (std::size_t i = 0; i < trees_.size(); ++i) trees_.SetActive(i, false);
    for (const Line& line : lines) {
      trees_.SetActive(line.number, true);
      trees_[line.number].BeginMove(/*random=*/std::nullopt);
    }
    for (std::int64_t i = 0; i < config_.simulations; ++i) {
      if (stop.Reached()) throw Stopped();
      const std::size_t rows = game_.spec().TaskRows(kTreesPerTask);
      ForRanges(trees_.size(), rows,
                [&](std::size_t first, std::size_t count) { trees_.Descend(first, count); });
      trees_.Evaluate();
      ForRanges(trees_.size(), rows,
                [&](std::size_t first, std::size_t count) { trees_.BackUp(first, count); });
    }
    for (Line& line : lines) {
      GameTree& tree = trees_[line.number];
      SearchResult& result = line.result;
      if (result.actions.empty()) line.estimate = 1 - tree.RootValue();
      result.nodes += config_.simulations;
      result.expanded += config_.simulations;
      result.stored = std::max(result.stored, static_cast<std::int64_t>(tree.size()));
      result.bytes = std::max(result.bytes, static_cast<std::int64_t>(tree.bytes()));
      result.actions.push_back(tree.Choose());
      tree.MoveTo(result.actions.back());
      if (tree.root_outcome() != Outcome::kOpen) line.stop_reason = StopReason::kSolved;
    }
  }

  SearchResult ResultOf(Line& line) const {
    SearchResult result = std::move(line.result);
    result.stop_reason = *line.stop_reason;
    // Games that are played for as many moves as the caller asked for need not end.
    result.solved =
        result.stop_reason == StopReason::kSolved || result.stop_reason == StopReason::kLengthLimit;
    if (!result.actions.empty()) {
      const std::vector<Action> best = {result.actions.front()};
      result.best = {
          .actions = best, .cost = CostOf(game_.spec(), best), .estimate = line.estimate};
    }
    if (!result.solved) result.actions.clear();
    result.cost = CostOf(game_.spec(), result.actions);
    return result;
  }

  const GameDomain& game_;
  const SearchConfig config_;
  GameTrees trees_;
};

}  // namespace

const GameDomain& RequireGame(const Domain& domain, std::string_view key, std::string_view name) {
  const GameDomain* const game = AsGame(domain);
  if (game != nullptr) return *game;
  throw InputError(
      fmt::format("`{}: {}` is for games of two players, and {} is a puzzle. Choose "
                  "another {}, or a game, such as connect_four.",
                  key, name, domain.spec().name, key));
}

void CheckIsPuzzle(const Domain& domain, std::string_view key, std::string_view name,
                   std::string_view instead) {
  if (AsGame(domain) == nullptr) return;
  throw InputError(fmt::format("`{}: {}` is for puzzles, and {} is a game of two players. Set {}.",
                               key, name, domain.spec().name, instead));
}

std::unique_ptr<Search> MakeGameSearch(const Domain& domain, Evaluator& network,
                                       const Config& config) {
  const GameDomain& game =
      RequireGame(domain, "search.method", NameOf(kSearchMethods, config.search.method));
  return std::make_unique<BestPlaySearch>(game, network, config.search);
}

}  // namespace tandem
