#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "domain/moves.h"
#include "domain/random_walks.h"
#include "generate/generator.h"
#include "generate/pipelined_loop.h"
#include "generate/row_ranges.h"
#include "search/game_search.h"
#include "search/game_tree.h"

namespace tandem {
namespace {

constexpr std::size_t kGamesPerTask = 16;

// SelfPlayGenerator labels positions of games that the target network plays against itself
// (AlphaZero: see GameTreeRule).
//
// A series is generate.max_scramble consecutive moves of games, one game after the other, and
// global row r is the position before move (r mod max_scramble) of series r / max_scramble. A game
// begins after a random opening, of a length that is uniform from 0 to a number that is itself
// uniform from 0 to max_scramble; so positions of all lengths occur, and short openings more often.
// If the game is over by then, it begins at the start instead. All random numbers of a move are
// keyed by the number of its row.
//
// A row learns the policy that the search improved, and as its cost 1 minus the mean of the game's
// result and the search's value of the position, for the player to move. The result alone is noisy,
// since a random opening and a sampled move may decide a game. If the series ends before the game
// does, the search's value of the series' last position takes the place of the result.
//
// A row shows the board by a symmetry that is drawn at random (GameDomain::symmetries).
//
// Series are processed in ranges of up to generate.chunk_rows rows. Those of a range take their
// simulations in lock step, and two ranges take turns: while the network evaluates the leaves of
// one, the workers back up and descend in the other (see RunInPairs).
class SelfPlayGenerator final : public Generator {
 public:
  SelfPlayGenerator(const GameDomain& game, Evaluator& network, const Config& config)
      : game_(game),
        config_(config.generate),
        seed_(config.random_seed()),
        schema_(ExampleSchema(game.spec(), config)),
        games_per_task_(game.spec().TaskRows(kGamesPerTask)),
        arena_(static_cast<int>(*config.generate.workers)),
        groups_{MakeGroup(network), MakeGroup(network)} {}

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    const CurrentFill fill{.request = request, .out = out, .moves = config_.max_scramble};
    const std::int64_t most = std::max<std::int64_t>(config_.rows_of_chunk() / fill.moves, 1);
    RunInPairs(
        arena_, RowRanges::ForOverlap(fill.series(), most), fill.moves * config_.simulations,
        groups_, stop, [&](Group& group) { Descend(fill, group); },
        [](Group& group) { group.trees.Evaluate(); }, [&](Group& group) { BackUp(fill, group); });
  }

 private:
  // A move of the current game of a series that has been made.
  struct MadeMove {
    std::int64_t row;  // global
    float value;       // the search's value of the position, for the player who moved
  };

  // The series of one range, which advance in lock step.
  struct Group {
    GameTrees trees;
    RowRange range = {};
    std::int64_t step = 0;                          // of the range: a simulation of all its trees
    std::vector<std::vector<MadeMove>> games = {};  // by series: the moves of its current game
  };

  // One call of Fill: its request, its output, and the mapping from series and moves to rows.
  struct CurrentFill {
    const FillRequest& request;
    DataBuffer& out;
    const std::int64_t moves;  // of a series

    std::int64_t first_series() const { return request.first_row / moves; }
    std::int64_t series() const {
      return (request.first_row + request.rows + moves - 1) / moves - first_series();
    }
    std::int64_t GlobalRow(const Group& group, std::size_t i, std::int64_t move) const {
      return (first_series() + group.range.first + static_cast<std::int64_t>(i)) * moves + move;
    }
  };

  Group MakeGroup(Evaluator& network) const {
    return {.trees =
                GameTrees(game_, network,
                          {.search = config_.game_search, .simulations = config_.simulations})};
  }

  Random RandomOf(Purpose purpose, const CurrentFill& fill, std::int64_t global_row) const {
    return {seed_, purpose, fill.request.update, global_row};
  }

  void Descend(const CurrentFill& fill, Group& group) const {
    const auto series = static_cast<std::size_t>(group.range.rows);
    if (group.step == 0) {
      group.trees.Resize(series);
      group.games.assign(series, {});
    }
    ForRanges(series, games_per_task_, [&](std::size_t first, std::size_t count) {
      if (group.step % config_.simulations == 0) BeginMoves(fill, group, first, count);
      group.trees.Descend(first, count);
    });
  }

  void BackUp(const CurrentFill& fill, Group& group) const {
    const auto series = static_cast<std::size_t>(group.range.rows);
    const bool is_last = (group.step + 1) % config_.simulations == 0;
    ForRanges(series, games_per_task_, [&](std::size_t first, std::size_t count) {
      group.trees.BackUp(first, count);
      if (is_last) EndMoves(fill, group, first, count);
    });
  }

  // Begins a move of each series, and before it a game if the last one is over.
  void BeginMoves(const CurrentFill& fill, Group& group, std::size_t first,
                  std::size_t count) const {
    const std::int64_t move = group.step / config_.simulations;
    std::vector<std::size_t> fresh;  // series that begin a game
    for (std::size_t i = first; i < first + count; ++i) {
      if (group.games[i].empty()) fresh.push_back(i);
    }
    if (!fresh.empty()) BeginGames(fill, group, fresh, move);
    for (std::size_t i = first; i < first + count; ++i) {
      group.trees[i].BeginMove(RandomOf(Purpose::kRollout, fill, fill.GlobalRow(group, i, move)));
    }
  }

  void BeginGames(const CurrentFill& fill, Group& group, std::span<const std::size_t> series,
                  std::int64_t move) const {
    const Span span(Activity::kScramble);
    std::vector<Random> randoms;
    std::vector<std::int64_t> lengths;
    for (const std::size_t i : series) {
      Random& random =
          randoms.emplace_back(RandomOf(Purpose::kScramble, fill, fill.GlobalRow(group, i, move)));
      lengths.push_back(DrawScrambleLength(random, DrawScrambleLength(random, fill.moves)));
    }
    RandomWalks walks(game_);
    walks.Begin(randoms, lengths);
    while (walks.Step()) {
    }
    const std::vector<std::uint8_t> start = GoalOf(game_);
    for (std::size_t i = 0; i < series.size(); ++i) {
      const bool is_over = IsGoal(game_, walks.state(i));
      group.trees[series[i]].Reset(is_over ? start : walks.state(i));
    }
  }

  // Writes the rows of the moves that the simulations have chosen, and makes the moves.
  void EndMoves(const CurrentFill& fill, Group& group, std::size_t first, std::size_t count) const {
    const Span span(Activity::kWrite);
    const std::int64_t move = group.step / config_.simulations;
    const bool ends_series = move + 1 == fill.moves;
    for (std::size_t i = first; i < first + count; ++i) {
      GameTree& tree = group.trees[i];
      std::vector<MadeMove>& game = group.games[i];
      game.push_back({.row = fill.GlobalRow(group, i, move), .value = tree.RootValue()});
      WriteRow(fill, tree, game.back().row);
      tree.MoveTo(tree.Choose());
      if (tree.root_outcome() != Outcome::kOpen) {
        WriteCosts(fill, game, static_cast<float>(-ResultOf(tree.root_outcome())));
      } else if (ends_series) {
        WriteCosts(fill, game, game.back().value);
      }
    }
  }

  // Writes the input of the root and its improved policy.
  void WriteRow(const CurrentFill& fill, const GameTree& tree, std::int64_t global_row) const {
    const std::optional<std::size_t> row = fill.request.RowInFill(global_row);
    if (!row) return;
    const std::span<std::uint8_t> input = fill.out.column(kInputColumn)[*row];
    const std::span<float> policy = fill.out.floats(kTargetColumn, *row).subspan(1);
    game_.Encode(ConstRows(tree.root()), Rows(input));
    tree.WritePolicy(policy);
    Random random = RandomOf(Purpose::kAction, fill, global_row);
    const std::uint64_t drawn = random.Below(game_.symmetries().size() + 1);
    if (drawn == 0) return;
    const Symmetry& symmetry = game_.symmetries()[drawn - 1];
    const std::vector<std::uint8_t> old_input(input.begin(), input.end());
    const std::vector<float> old_policy(policy.begin(), policy.end());
    for (std::size_t p = 0; p < input.size(); ++p) input[symmetry.positions[p]] = old_input[p];
    for (std::size_t a = 0; a < policy.size(); ++a) policy[symmetry.actions[a]] = old_policy[a];
  }

  // Writes the costs of the rows of a game and forgets its moves. `result` is that of the player
  // who made the last move.
  static void WriteCosts(const CurrentFill& fill, std::vector<MadeMove>& game, float result) {
    for (; !game.empty(); game.pop_back(), result = -result) {
      const std::optional<std::size_t> row = fill.request.RowInFill(game.back().row);
      if (!row) continue;
      const float value = (result + game.back().value) / 2;
      fill.out.floats(kTargetColumn, *row)[0] = std::clamp(1 - value, 0.0F, 2.0F);
    }
  }

  const GameDomain& game_;
  const GenerateConfig config_;
  const std::uint64_t seed_;
  const Schema schema_;
  const std::size_t games_per_task_;
  tbb::task_arena arena_;
  std::array<Group, 2> groups_;
};

}  // namespace

std::unique_ptr<Generator> MakeSelfPlayGenerator(const Domain& domain, Evaluator& network,
                                                 const Config& config) {
  const GameDomain& game =
      RequireGame(domain, "generate.target", NameOf(kTargets, config.generate.target));
  return std::make_unique<SelfPlayGenerator>(game, network, config);
}

}  // namespace tandem
