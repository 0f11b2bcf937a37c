// Examples by approximate value iteration, on scrambled states or on states met by searches.
#include <oneapi/tbb/task_arena.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "domain/random_walks.h"
#include "generate/bellman.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "generate/pipelined_loop.h"
#include "generate/row_ranges.h"
#include "generate/search_tree.h"
#include "generate/state_search.h"

namespace tandem {
namespace {

// ValueIterationGenerator labels states with their Bellman backups (BellmanTargets). Without a
// search, the states are ends of random walks. With one, they also include the states that the
// search visits from there. One evaluation of a state's children both labels the state and guides
// the search.
//
// With target q_learning, it labels one action of each state, as Q-learning does (Watkins, 1989;
// with a target network as in DQN, Mnih et al., 2015). A row thus takes one evaluation. Value
// iteration labels all actions of a state and takes one for each, so with Q-learning an evaluation
// more often meets a new state, and with value iteration a training step uses more labels. The
// action is uniform among all actions (DrawAction), also those that lead back and those that do
// not apply: the least value of a state is taken over all of them, so none may stay unlabelled.
// The child of an action that does not apply is its parent, and its cost makes it worse than the
// best action.
//
// A step of an instance has GenerateConfig::states_per_step rows, W for short. Global row r is
// state (r mod W) of step (r / W mod search_iterations) of instance r / W / search_iterations. If
// an instance has expanded a goal or a neighbour of a goal, or has no state left to expand, the
// first row of its next step is a new scramble and a new search starts there. If a beam has fewer
// than W states, the remaining rows of the step are scrambles that take no part in the search.
// Without a search every row is a new scramble. All random numbers of a row are keyed by the row's
// number.
//
// searches_solved() counts the first search of each instance, and as solved if it has reached a
// goal or the ball around it. Searches that start later have fewer steps left, and counting them
// only if they reach a goal would favour short scrambles.
//
// With generate.backup lhbl or ubsoln, the rows of a search are labelled when it has ended
// (SearchTree).
//
// With generate.hindsight, a search that ended without a goal gets a goal that it did reach
// (Hindsight). Only rows on the path there change, except that all rows of a state that a search
// expanded more than once have the least of its bounds (SearchTree). For a Q net, these rows label
// the action of the path alone, so all rows have weights. For head q_in, whose rows label one
// action each, it is the action of the path.
//
// If the network's estimates do not depend on what else is evaluated (StateBatch), no child that
// the search has expanded before is evaluated again. The labels are the same.
//
// An anchor (ExactLabels) takes the place of its row when the row is written, so the searches do
// not see it.
//
// Instances are processed in ranges of up to generate.chunk_rows. The instances of a range advance
// in lock step, with one evaluation per step. Meanwhile the workers label, advance and expand
// another range (see RunInPairs).
class ValueIterationGenerator final : public Generator {
 public:
  // `domain` and `network` must outlive this. See MakeGenerator for `config`. `exact` may be null.
  // Throws InputError if generate.hindsight is true and the domain cannot move its goals.
  ValueIterationGenerator(const Domain& domain, Evaluator& network, const Config& config,
                          std::shared_ptr<const ExactLabels> exact)
      : domain_(domain),
        config_(config.generate),
        seed_(config.random_seed()),
        head_(config.network.head),
        width_(static_cast<std::size_t>(config_.states_per_step())),
        instances_per_task_(
            std::max<std::size_t>(domain.spec().TaskRows(kStatesPerTask) / width_, 1)),
        keeps_trees_(SearchTree::IsNeeded(config_)),
        hindsight_(config_.hindsight ? std::optional<Hindsight>(std::in_place, domain, head_)
                                     : std::nullopt),
        labelled_(!LabelsWhenTraining(config.pipeline.mode)),
        schema_(labelled_ ? ExampleSchema(domain.spec(), config) : StateSchema(domain.spec())),
        exact_(std::move(exact)),
        targets_(domain, head_),
        arena_(static_cast<int>(*config.generate.workers)),
        groups_{MakeGroup(network), MakeGroup(network)} {}

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    const CurrentFill fill{
        .request = request,
        .out = out,
        .steps = config_.searches() ? config_.search_iterations : 1,
        .width = static_cast<std::int64_t>(width_),
        .longest_scramble = request.longest_scramble.value_or(config_.max_scramble)};
    solved_ = {};
    const std::int64_t most = std::max<std::int64_t>(config_.rows_of_chunk() / fill.width, 1);
    RunInPairs(
        arena_, RowRanges::ForOverlap(fill.instances(), most), fill.steps, groups_, stop,
        [&](Group& group) { Expand(fill, group); }, [](Group& group) { group.batch.Evaluate(); },
        [&](Group& group) {
          if (labelled_ || keeps_trees_) WriteTargets(fill, group);
          if (config_.searches()) CountSearches(fill, group);
        });
  }

  std::optional<double> searches_solved() const override { return solved_.MeanShare(); }

 private:
  // The first search of an instance, which alone may take all steps of the instance.
  struct FirstSearch {
    std::int64_t length = 0;  // of its scramble
    bool runs = false;        // whether it is the current search
    bool solved = false;      // whether it had found a way to a goal before the current step
  };

  // One instance of a range.
  struct Instance {
    std::unique_ptr<StateSearch> search;  // null without a search
    std::size_t searched = 0;  // states of the current step that belong to the search: the first
    FirstSearch first;
    SearchTree tree;           // empty unless SearchTree::IsNeeded
    KnownEstimates estimates;  // of the current search
  };

  // The instances of one range, which advance in lock step.
  struct Group {
    StateBatch batch;     // the states of instance i are width_ * i to width_ * i + width_ - 1
    RowRange range = {};  // of the instances, counted from 0 in each fill
    std::int64_t step = 0;
    std::vector<Instance> instances = {};
  };

  // One call of Fill: its request, its output, and the mapping from instances and steps to rows.
  struct CurrentFill {
    const FillRequest& request;
    DataBuffer& out;
    const std::int64_t steps;             // per instance
    const std::int64_t width;             // states per step
    const std::int64_t longest_scramble;  // in actions

    std::int64_t rows_per_instance() const { return steps * width; }
    std::int64_t first_instance() const { return request.first_row / rows_per_instance(); }
    std::int64_t instances() const {
      const std::int64_t end = request.first_row + request.rows;
      return (end + rows_per_instance() - 1) / rows_per_instance() - first_instance();
    }

    // The global number of the instance that state i of the group belongs to.
    std::int64_t GlobalInstance(const Group& group, std::size_t i) const {
      return first_instance() + group.range.first + static_cast<std::int64_t>(i) / width;
    }

    std::int64_t GlobalRow(const Group& group, std::size_t i) const {
      return (GlobalInstance(group, i) * steps + group.step) * width +
             static_cast<std::int64_t>(i) % width;
    }
  };

  void Expand(const CurrentFill& fill, Group& group) const {
    const auto instances = static_cast<std::size_t>(group.range.rows);
    group.batch.Resize(instances * width_);
    while (group.instances.size() < instances) {
      group.instances.push_back({.search = MakeStateSearch(domain_.spec(), config_),
                                 .tree = SearchTree(domain_, head_),
                                 .estimates = {}});
    }
    ForRanges(instances, instances_per_task_, [&](std::size_t first, std::size_t count) {
      {
        const Span span(Activity::kScramble);
        Advance(fill, group, first, count);
      }
      group.batch.Expand(first * width_, count * width_);
      for (std::size_t i = first; config_.searches() && i < first + count; ++i) {
        Instance& instance = group.instances[i];
        group.batch.ReuseEstimates(i * width_, instance.searched, instance.estimates);
      }
      const Span span(Activity::kWrite);
      WriteStates(fill, group, first * width_, count * width_);
    });
  }

  // States that were labelled, with their rows in the output.
  struct LabelledStates {
    std::vector<std::uint8_t> states;
    std::vector<std::size_t> rows;

    void Add(std::span<const std::uint8_t> state, std::size_t row) {
      states.insert(states.end(), state.begin(), state.end());
      rows.push_back(row);
    }
  };

  // Gives those of the states that are in the ball exact labels.
  void WriteExactLabels(const LabelledStates& labelled, DataBuffer& out) const {
    if (exact_ == nullptr) return;
    const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
    exact_->Write(ConstRows(labelled.states.data(), labelled.rows.size(), state_size),
                  labelled.rows, out);
  }

  // Replaces the states of `count` instances from `first` on with the next ones, by their searches
  // or by new scrambles.
  void Advance(const CurrentFill& fill, Group& group, std::size_t first, std::size_t count) const {
    std::vector<std::size_t> scrambled;  // states
    LabelledStates labelled;             // of searches that have ended
    for (std::size_t instance = first; instance < first + count; ++instance) {
      ContinueSearch(fill, group, instance, labelled);
      for (std::size_t i = group.instances[instance].searched; i < width_; ++i) {
        scrambled.push_back(instance * width_ + i);
      }
    }
    WriteExactLabels(labelled, fill.out);
    const std::vector<std::int64_t> lengths = WriteScrambles(fill, group, scrambled);
    for (std::size_t i = 0; i < scrambled.size(); ++i) {
      if (scrambled[i] % width_ == 0) BeginSearch(group, scrambled[i] / width_, lengths[i]);
    }
  }

  // Replaces the states of an instance with the next ones of its search. If the search has ended,
  // `searched` is 0 afterwards. Adds the states that it labels to `labelled`.
  void ContinueSearch(const CurrentFill& fill, Group& group, std::size_t instance,
                      LabelledStates& labelled) const {
    Instance& current = group.instances[instance];
    const std::size_t first = instance * width_;
    const bool has_begun = current.search != nullptr && group.step > 0;
    const bool continues = has_begun && !Reached(group, instance, /*or_ball=*/false);
    if (has_begun && current.first.runs && Reached(group, instance, /*or_ball=*/true)) {
      current.first.solved = true;
    }
    current.searched = 0;
    if (continues) {
      current.searched = current.search->Next(
          group.batch, first,
          Random(seed_, Purpose::kRollout, fill.request.update, fill.GlobalRow(group, first)));
    }
    if (current.searched > 0) return;
    // A fill that was stopped leaves its searches unfinished.
    if (group.step == 0) current.tree.Clear();
    EndSearch(fill, current.tree, labelled);
  }

  // Begins a search at the first state of an instance, a new scramble of `length` actions.
  void BeginSearch(Group& group, std::size_t instance, std::int64_t length) const {
    Instance& current = group.instances[instance];
    if (group.step == 0) current.first = {.length = length};
    current.first.runs = group.step == 0;
    if (current.search != nullptr) current.search->Begin(group.batch, instance * width_);
    current.estimates.clear();
    current.searched = 1;
  }

  // Whether the search of an instance has expanded a goal, or a state whose child is one, in this
  // step. With `or_ball`, a child in the ball around the goal counts like a goal.
  bool Reached(const Group& group, std::size_t instance, bool or_ball) const {
    const StateBatch& batch = group.batch;
    const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
    const std::size_t end = instance * width_ + group.instances[instance].searched;
    for (std::size_t i = instance * width_; i < end; ++i) {
      if (batch.is_goal[i] != 0) return true;
      for (std::size_t child = i * num_actions; child < (i + 1) * num_actions; ++child) {
        if (batch.children.is_goal()[child] != 0) return true;
        if (or_ball && !std::isinf(batch.children.KnownCost(child))) return true;
      }
    }
    return false;
  }

  // The action of a row that labels only one.
  Action ActionOf(const CurrentFill& fill, const Group& group, std::size_t i) const {
    return DrawAction(domain_.spec(), seed_, fill.request.update, fill.GlobalRow(group, i));
  }

  // Replaces the chosen states with the ends of new random walks, and returns the lengths of the
  // walks.
  std::vector<std::int64_t> WriteScrambles(const CurrentFill& fill, Group& group,
                                           std::span<const std::size_t> chosen) const {
    std::vector<Random> randoms;
    std::vector<std::int64_t> lengths;
    for (const std::size_t i : chosen) {
      Random& random = randoms.emplace_back(seed_, Purpose::kScramble, fill.request.update,
                                            fill.GlobalRow(group, i));
      lengths.push_back(DrawScrambleLength(random, fill.longest_scramble));
    }
    RandomWalks walks(domain_);
    walks.Begin(randoms, lengths);
    while (walks.Step()) {
    }
    const bool capped = config_.target == Target::kCappedValueIteration ||
                        config_.target == Target::kCappedQLearning;
    StateBatch& batch = group.batch;
    for (std::size_t walk = 0; walk < chosen.size(); ++walk) {
      const std::size_t i = chosen[walk];
      std::ranges::copy(walks.state(walk), batch.rows()[i].begin());
      batch.bounds[i] = capped ? walks.cost_back(walk) : std::numeric_limits<float>::infinity();
      if (batch.has_one_child()) batch.actions[i] = ActionOf(fill, group, i);
      batch.estimates[i] = std::numeric_limits<float>::quiet_NaN();
    }
    return lengths;
  }

  // Counts the first searches of a group's instances once their last step has been expanded. The
  // request that has an instance's first row counts the instance.
  void CountSearches(const CurrentFill& fill, const Group& group) {
    if (group.step + 1 < fill.steps) return;
    for (std::size_t instance = 0; instance * width_ < group.batch.size(); ++instance) {
      const std::int64_t number = fill.GlobalInstance(group, instance * width_);
      if (number * fill.rows_per_instance() < fill.request.first_row) continue;
      const FirstSearch& search = group.instances[instance].first;
      solved_.Add(search.length,
                  search.solved || (search.runs && Reached(group, instance, /*or_ball=*/true)));
    }
  }

  Group MakeGroup(Evaluator& network) const {
    const auto children =
        IsQLearning(config_.target) ? StateBatch::Children::kOne : StateBatch::Children::kAll;
    return {.batch = StateBatch(domain_, network, BallOf(exact_), children)};
  }

  // The state of the ball that takes the place of instance i's row, if the row is an anchor.
  std::optional<std::size_t> Anchor(const CurrentFill& fill, const Group& group,
                                    std::size_t i) const {
    if (exact_ == nullptr) return std::nullopt;
    return exact_->Anchor(fill.request.update, fill.GlobalRow(group, i));
  }

  // Writes the columns that do not depend on estimates, of `count` states from `first` on.
  void WriteStates(const CurrentFill& fill, Group& group, std::size_t first,
                   std::size_t count) const {
    const StateBatch& batch = group.batch;
    std::vector<std::size_t> rows;
    std::vector<std::uint8_t> states;
    std::vector<Action> actions;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::optional<std::size_t> row = fill.request.RowInFill(fill.GlobalRow(group, i));
      if (!row) continue;
      const std::optional<std::size_t> anchor = Anchor(fill, group, i);
      const auto state = anchor ? exact_->ball()->state(*anchor) : batch.rows()[i];
      rows.push_back(*row);
      states.insert(states.end(), state.begin(), state.end());
      actions.push_back(TakesAction(head_) ? ActionOf(fill, group, i) : Action{0});
      if (labelled_) continue;
      std::ranges::copy(state, fill.out.column(kStateColumn)[*row].begin());
      fill.out.floats(kBoundColumn)[*row] =
          anchor ? exact_->ball()->cost(*anchor) : batch.bounds[i];
    }
    if (!labelled_) return;
    const ConstRows of_rows(states.data(), rows.size(), batch.rows().row_size());
    EncodeInputsOf(domain_, of_rows, actions, rows, fill.out);
  }

  // Writes the targets of all states, except that those of a search's states wait in its tree until
  // the search has ended.
  void WriteTargets(const CurrentFill& fill, Group& group) const {
    ForRanges(group.batch.size() / width_, instances_per_task_,
              [&](std::size_t first, std::size_t count) {
                StateBackup backup;
                LabelledStates labelled;
                for (std::size_t instance = first; instance < first + count; ++instance) {
                  WriteTargetsOf(fill, group, instance, backup, labelled);
                }
                WriteExactLabels(labelled, fill.out);
              });
  }

  // Does WriteTargets for one instance, except for exact labels: adds the states that may get one
  // to `labelled`. `backup` is scratch memory.
  void WriteTargetsOf(const CurrentFill& fill, Group& group, std::size_t instance,
                      StateBackup& backup, LabelledStates& labelled) const {
    Instance& current = group.instances[instance];
    // The best state of a beam comes first in the batch and last in the tree.
    for (std::size_t i = (instance + 1) * width_; i-- > instance * width_;) {
      std::optional<std::size_t> row = fill.request.RowInFill(fill.GlobalRow(group, i));
      const std::optional<std::size_t> anchor =
          row ? Anchor(fill, group, i) : std::optional<std::size_t>();
      if (anchor && labelled_) labelled.Add(exact_->ball()->state(*anchor), *row);
      if (anchor) row.reset();
      const bool in_tree = keeps_trees_ && i < instance * width_ + current.searched;
      if (!in_tree && !(row && labelled_)) continue;
      targets_.BackUp(group.batch, i, backup);
      if (in_tree) {
        current.tree.Add(group.batch, i, backup, row);
      } else {
        targets_.Write(backup, fill.out, *row);
        if (exact_ != nullptr) labelled.Add(group.batch.rows()[i], *row);
      }
    }
    if (group.step + 1 == fill.steps) EndSearch(fill, current.tree, labelled);
  }

  // Writes the labels of a search that has ended, and clears its tree.
  void EndSearch(const CurrentFill& fill, SearchTree& tree, LabelledStates& labelled) const {
    if (tree.empty()) return;
    const Span span(Activity::kBackUp);
    if (labelled_) {
      if (config_.backup == Backup::kLhbl) tree.BackUpTree();
      if (config_.backup == Backup::kUbSoln) tree.BackUpSolution();
      for (const SearchTree::Row& each : tree.rows()) {
        targets_.Write(tree.backup(each.node), fill.out, each.row);
        if (exact_ != nullptr) labelled.Add(tree.state(each.node), each.row);
      }
    }
    if (hindsight_ && !tree.solved()) hindsight_->MoveGoals(tree, fill.out);
    tree.Clear();
  }

  const Domain& domain_;
  const GenerateConfig config_;
  const std::uint64_t seed_;
  const Head head_;
  const std::size_t width_;  // states per step
  const std::size_t instances_per_task_;
  const bool keeps_trees_;
  const std::optional<Hindsight> hindsight_;
  const bool labelled_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;
  const BellmanTargets targets_;
  tbb::task_arena arena_;
  std::array<Group, 2> groups_;  // turn i uses element i % 2
  SolvedByLength solved_;        // of the last fill
};

}  // namespace

std::unique_ptr<Generator> MakeValueIterationGenerator(const Domain& domain, Evaluator& network,
                                                       const Config& config,
                                                       std::shared_ptr<const ExactLabels> exact) {
  return std::make_unique<ValueIterationGenerator>(domain, network, config, std::move(exact));
}

}  // namespace tandem
