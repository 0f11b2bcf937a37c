#include "generate/retrograde.h"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "base/timeline.h"
#include "config/config.h"
#include "data/examples.h"
#include "domain/moves.h"
#include "generate/generator.h"
#include "generate/row_ranges.h"
#include "search/costs.h"
#include "search/hash_set.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kAtOnce = 16;           // states whose predecessors are looked up together
constexpr int kMostProblems = 100;            // that are drawn until one is small enough
constexpr std::size_t kMostStates = 500'000;  // of a problem; one with more is replaced
constexpr int kDeadEndTries = 8;  // states that are drawn until one has a child without solution
constexpr std::uint64_t kFurtherInFour = 1;  // of four dead ends, how many go on
constexpr std::uint64_t kMostFurther = 7;    // random actions

[[noreturn]] void ThrowLacksGoal(const Domain& domain, std::span<const std::uint8_t> goal) {
  throw Error(fmt::format(
      "domain '{}': AllGoals lacks the goal {}, expected every goal of a problem. Correct the "
      "puzzle; `tandem check-domain` checks it.",
      domain.spec().name, domain.FormatState(goal)));
}

}  // namespace

RetrogradeTable::RetrogradeTable(const Domain& domain)
    : domain_(domain),
      at_once_(domain.spec().TaskRows(kAtOnce)),
      nodes_(static_cast<std::size_t>(domain.spec().state_size)) {
  if (CostsDiffer(domain.spec())) {
    throw InputError(fmt::format(
        "`generate.target: retrograde`: the actions of {} have different costs, expected equal "
        "ones. Choose another target.",
        domain.spec().name));
  }
  const std::vector<std::uint8_t> goal = GoalOf(domain);
  if (!domain.Predecessors(ConstRows(std::span(goal)), predecessors_)) {
    throw InputError(fmt::format(
        "`generate.target: retrograde`: {} cannot tell which states lead to a state, expected a "
        "puzzle whose actions have inverses, or one that overrides Predecessors. Choose another "
        "target.",
        domain.spec().name));
  }
}

bool RetrogradeTable::Build(std::span<const std::uint8_t> goal, std::size_t most_states) {
  nodes_.Clear();
  ends_.clear();
  predecessors_.clear();
  domain_.AllGoals(goal, predecessors_);
  AddNewOfPredecessors();
  if (!Contains(goal)) ThrowLacksGoal(domain_, goal);
  for (std::size_t next = 0; next < nodes_.size(); ends_.push_back(next)) {
    const std::size_t end = nodes_.size();  // of the level that begins with `next`
    while (next < end) {
      const std::size_t count = std::min(end - next, at_once_);
      states_.clear();
      for (const std::size_t last = next + count; next < last; ++next) {
        const auto state = nodes_.state(static_cast<std::uint32_t>(next));
        states_.insert(states_.end(), state.begin(), state.end());
      }
      predecessors_.clear();
      domain_.Predecessors(ConstRows(states_.data(), count, states_.size() / count), predecessors_);
      const std::size_t first = nodes_.size();
      AddNewOfPredecessors();
      RejectGoals(first);
      if (nodes_.size() > most_states) return false;
    }
  }
  return nodes_.size() <= most_states;
}

// Look-ups miss the cache, so all of them are announced before the first.
void RetrogradeTable::AddNewOfPredecessors() {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  const ConstRows states(predecessors_.data(), predecessors_.size() / state_size, state_size);
  hashes_.resize(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    hashes_[i] = HashState(states[i]);
    nodes_.Prefetch(hashes_[i]);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (nodes_.Find(states[i], hashes_[i]) == NodeTable::kNone) {
      nodes_.Add(states[i], hashes_[i], NodeTable::Node{}, Action{});
    }
  }
}

// Checks that the states from number `first` on are not goals, whose labels would be wrong.
void RetrogradeTable::RejectGoals(std::size_t first) {
  if (first == nodes_.size()) return;
  added_.clear();
  for (std::size_t number = first; number < nodes_.size(); ++number) {
    const std::span<const std::uint8_t> added = state(static_cast<std::uint32_t>(number));
    added_.insert(added_.end(), added.begin(), added.end());
  }
  is_goal_.resize(nodes_.size() - first);
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  domain_.IsGoal(ConstRows(added_.data(), is_goal_.size(), state_size), is_goal_);
  const auto goal = std::ranges::find_if(is_goal_, [](std::uint8_t is) { return is != 0; });
  if (goal == is_goal_.end()) return;
  const std::size_t number = first + static_cast<std::size_t>(goal - is_goal_.begin());
  ThrowLacksGoal(domain_, state(static_cast<std::uint32_t>(number)));
}

bool RetrogradeTable::Contains(std::span<const std::uint8_t> state) const {
  return nodes_.Find(state, HashState(state)) != NodeTable::kNone;
}

namespace {

// RetrogradeGenerator draws states of random problems (Domain::DrawGoals) and labels them with
// their exact costs-to-go, from a RetrogradeTable. It is for puzzles whose goals differ by problem
// and whose problems are small, such as Sokoban.
//
// generate.problem_rows consecutive rows belong to one problem. A row first draws the number of
// actions that a solution takes, uniformly, and then one of the states that need as many. With
// probability generate.dead_end_share, it goes on to a child from which no goal can be reached,
// and a quarter of these rows go on with up to seven random actions. Their label is
// generate.dead_end_cost. So the network learns which states a search should avoid, which walks
// from the goal never show. If the state has no such child, the row draws again, a few times.
//
// The rows are a function of the seed and of their numbers.
class RetrogradeGenerator final : public Generator {
 public:
  // `domain` must outlive this. See MakeGenerator for `config`, whose network.head must be v.
  // Throws InputError if all problems of the domain have the same goal, or as RetrogradeTable
  // does.
  RetrogradeGenerator(const Domain& domain, const Config& config)
      : domain_(domain),
        config_(config.generate),
        seed_(config.random_seed()),
        schema_(ExampleSchema(domain.spec(), config)),
        action_cost_(domain.spec().action_costs[0]),
        has_dead_ends_(domain.spec().inverse_actions.empty() && config_.dead_end_share > 0),
        arena_(static_cast<int>(*config.generate.workers)) {
    if (!domain.spec().per_problem_goals) {
      throw InputError(fmt::format(
          "`generate.target: retrograde`: all problems of {} have the same goal, expected a puzzle "
          "whose goals differ by problem, such as sokoban. Set generate.target to walk_length "
          "or value_iteration.",
          domain.spec().name));
    }
    for (std::int64_t i = 0; i < *config.generate.workers; ++i) tables_.emplace_back(domain);
  }

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }

  // Also throws InputError if no problem with at most 500,000 states is found.
  // The rows of a problem are one unit of work. A request may begin and end within a problem.
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    const std::int64_t of_problem = config_.problem_rows;
    const std::int64_t first = request.first_row / of_problem * of_problem;
    const std::int64_t end = request.first_row + request.rows;
    FillRanges(arena_, RowRanges(end - first, of_problem), stop, [&](RowRange range) {
      const std::int64_t problem = (first + range.first) / of_problem;
      RetrogradeTable& table =
          tables_[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())];
      {
        const Span span(Activity::kScramble);
        DrawProblem(Random(seed_, Purpose::kProblem, request.update, problem), table, stop);
      }
      const Span span(Activity::kWrite);
      const std::int64_t begin = std::max(first + range.first, request.first_row);
      const auto at = static_cast<std::size_t>(begin - request.first_row);
      const auto rows = static_cast<std::size_t>(first + range.first + range.rows - begin);
      const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
      std::vector<std::uint8_t> memory(rows * state_size);
      const Rows states(memory.data(), rows, state_size);
      std::vector<Random> randoms;
      for (std::size_t i = 0; i < rows; ++i) {
        randoms.emplace_back(seed_, Purpose::kScramble, request.update,
                             begin + static_cast<std::int64_t>(i));
      }
      DrawRows(table, randoms, states, out.floats(kTargetColumn).subspan(at, rows));
      domain_.Encode(states, out.column(kInputColumn).Slice(at, rows));
    });
  }

 private:
  void DrawProblem(Random random, RetrogradeTable& table, const StopSignal& stop) const {
    std::vector<std::uint8_t> goal(static_cast<std::size_t>(domain_.spec().state_size));
    for (int i = 0; i < kMostProblems; ++i) {
      if (stop.Reached()) throw Stopped();
      const std::uint64_t seed = random.Next();
      domain_.DrawGoals(Rows(std::span(goal)), {&seed, 1});
      const bool fits = table.Build(goal, kMostStates);
      if (fits && table.longest() > 0) return;
    }
    throw InputError(
        fmt::format("`generate.target: retrograde`: none of {} problems of {} has between 2 and {} "
                    "states. Choose another target.",
                    kMostProblems, domain_.spec().name, WithThousands(kMostStates)));
  }

  // Writes a state and its label for each row. Rows that want a dead end draw until their state has
  // a child without a solution, all of them together, so that the puzzle expands many states at
  // once.
  void DrawRows(const RetrogradeTable& table, std::span<Random> randoms, Rows states,
                std::span<float> labels) const {
    const auto draw = [&](std::size_t row) {
      const auto actions = static_cast<std::size_t>(randoms[row].Below(table.longest() + 1));
      const std::uint32_t first = table.First(actions);
      const std::uint64_t states_there = table.First(actions + 1) - first;
      const auto number = first + static_cast<std::uint32_t>(randoms[row].Below(states_there));
      std::ranges::copy(table.state(number), states[row].begin());
      labels[row] = static_cast<float>(actions) * action_cost_;
    };
    std::vector<std::size_t> wanting;
    std::vector<std::size_t> dead_ends;
    for (std::size_t row = 0; row < states.size(); ++row) {
      if (has_dead_ends_ && randoms[row].Share() < config_.dead_end_share) wanting.push_back(row);
      draw(row);
    }
    for (int tries = 1; !wanting.empty(); ++tries) {
      StepIntoDeadEnds(table, randoms, states, wanting, dead_ends);
      if (tries == kDeadEndTries) break;
      std::ranges::for_each(wanting, draw);
    }
    for (const std::size_t row : dead_ends) {
      labels[row] = static_cast<float>(config_.dead_end_cost);
    }
    GoFurther(randoms, states, dead_ends);
  }

  // Replaces each state of `wanting` that has children without a solution by one of them, and moves
  // its row to `dead_ends`.
  void StepIntoDeadEnds(const RetrogradeTable& table, std::span<Random> randoms, Rows states,
                        std::vector<std::size_t>& wanting,
                        std::vector<std::size_t>& dead_ends) const {
    const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
    const std::size_t size = states.row_size();
    std::vector<std::uint8_t> parents;
    std::vector<std::uint8_t> memory(wanting.size() * num_actions * size);
    for (const std::size_t row : wanting) {
      parents.insert(parents.end(), states[row].begin(), states[row].end());
    }
    const Rows children(memory.data(), wanting.size() * num_actions, size);
    domain_.Expand(ConstRows(parents.data(), wanting.size(), size), children);
    std::vector<std::size_t> still_wanting;
    std::vector<std::size_t> dead;
    for (std::size_t i = 0; i < wanting.size(); ++i) {
      const std::size_t row = wanting[i];
      dead.clear();
      for (std::size_t child = i * num_actions; child < (i + 1) * num_actions; ++child) {
        if (!table.Contains(children[child])) dead.push_back(child);
      }
      if (!dead.empty()) {
        std::ranges::copy(children[dead[randoms[row].Below(dead.size())]], states[row].begin());
      }
      (dead.empty() ? still_wanting : dead_ends).push_back(row);
    }
    wanting = std::move(still_wanting);
  }

  // Takes a few random actions from some of the dead ends, which lead to further ones.
  void GoFurther(std::span<Random> randoms, Rows states,
                 std::span<const std::size_t> dead_ends) const {
    const auto num_actions = static_cast<std::uint64_t>(domain_.spec().num_actions());
    std::vector<std::vector<std::size_t>> rows_of_step(kMostFurther);
    for (const std::size_t row : dead_ends) {
      if (randoms[row].Below(4) >= kFurtherInFour) continue;
      const std::uint64_t steps = randoms[row].Below(kMostFurther + 1);
      for (std::uint64_t step = 0; step < steps; ++step) rows_of_step[step].push_back(row);
    }
    std::vector<std::uint8_t> moved;
    std::vector<Action> actions;
    for (const std::vector<std::size_t>& rows : rows_of_step) {
      moved.clear();
      actions.clear();
      for (const std::size_t row : rows) {
        moved.insert(moved.end(), states[row].begin(), states[row].end());
        actions.push_back(static_cast<Action>(randoms[row].Below(num_actions)));
      }
      const Rows now(moved.data(), rows.size(), states.row_size());
      domain_.Apply(now, actions);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::ranges::copy(now[i], states[rows[i]].begin());
      }
    }
  }

  const Domain& domain_;
  const GenerateConfig config_;
  const std::uint64_t seed_;
  const Schema schema_;
  const float action_cost_;
  const bool has_dead_ends_;
  tbb::task_arena arena_;
  std::vector<RetrogradeTable> tables_;  // one per thread of the arena; problems reuse the memory
};

}  // namespace

std::unique_ptr<Generator> MakeRetrogradeGenerator(const Domain& domain, const Config& config) {
  return std::make_unique<RetrogradeGenerator>(domain, config);
}

}  // namespace tandem
