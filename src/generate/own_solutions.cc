// Examples from the solutions that the network itself finds.
#include <oneapi/tbb/task_arena.h>

#include <iterator>
#include <span>
#include <utility>

#include "base/random.h"
#include "base/timeline.h"
#include "domain/random_walks.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "generate/row_ranges.h"
#include "generate/walk_generator.h"
#include "search/search.h"

namespace tandem {
namespace {

constexpr std::size_t kInstancesPerTask = 8;

std::int64_t InstancesAtOnce(const GenerateConfig& config) {
  return std::max<std::int64_t>(config.rows_of_chunk() / config.max_scramble, 1);
}

Config ConfigOfSearch(const DomainSpec& spec, const Config& config) {
  const bool is_beam = config.generate.search == GenerateSearch::kBeam;
  if (is_beam) {
    CheckBeamWidth(spec, config.generate.search_beam_width, "generate.search_beam_width");
  }
  Config result = config;
  result.search = {.method = is_beam ? SearchMethod::kBeam : SearchMethod::kGreedy,
                   .beam_width = config.generate.search_beam_width,
                   .max_length = config.generate.search_iterations};
  return result;
}

// OwnSolutionsGenerator labels states with what solutions say about them (PathLabels): those
// that the target network finds, and the ways back of random walks where it finds none. Learning
// from one's own searches is expert iteration (Anthony, Tian and Barber, "Thinking Fast and Slow
// with Deep Learning and Tree Search", NeurIPS 2017), and DeepXube's up_rl_p for a policy. The
// walks give every fill labels while the network solves nothing, and no label costs more than the
// walk.
//
// An instance is a walk of generate.max_scramble actions. A search (generate.search) starts from a
// state of the walk that is drawn uniformly, and looks for a solution that costs at most the
// walk's way back from there. It follows the network without chance, as searches that solve do.
//
// Global row r is a state of instance r / max_scramble. If the instance has a solution of n
// actions, its row i < n is the state with i + 1 actions of the solution left. The other rows are
// the prefixes of i + 1 actions of the walk, labelled with its way back. Steps that leave the
// state as it is do not count, and a walk that meets a goal again starts there again. So a walk
// may be shorter; its last state then fills the rest.
//
// Walks take distinct actions if all actions commute and undo themselves (WalkKindOfActions).
class OwnSolutionsGenerator final : public Generator {
 public:
  // `domain` and `network` must outlive this. See MakeGenerator for `config`, whose
  // generate.search must be greedy or beam. Throws the same errors as WalkKindOfActions.
  OwnSolutionsGenerator(const Domain& domain, Evaluator& network, const Config& config)
      : domain_(domain),
        labels_(domain, config.network.head),
        kind_(WalkKindOfActions(domain, config.generate)),
        walk_length_(config.generate.max_scramble),
        at_once_(InstancesAtOnce(config.generate)),
        seed_(config.random_seed()),
        schema_(ExampleSchema(domain.spec(), config)),
        search_(MakeSearch(domain, network, ConfigOfSearch(domain.spec(), config))),
        arena_(static_cast<int>(*config.generate.workers)) {}

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    solved_ = {};
    const std::int64_t end = (request.first_row + request.rows + walk_length_ - 1) / walk_length_;
    for (std::int64_t first = request.first_row / walk_length_; first < end; first += at_once_) {
      instances_.resize(static_cast<std::size_t>(std::min(at_once_, end - first)));
      const RowRanges tasks(std::ssize(instances_),
                            static_cast<std::int64_t>(domain_.spec().TaskRows(kInstancesPerTask)));
      const auto for_tasks = [&](const auto& work) {
        FillRanges(arena_, tasks, stop, [&](RowRange range) {
          work(std::span(instances_)
                   .subspan(static_cast<std::size_t>(range.first),
                            static_cast<std::size_t>(range.rows)));
        });
      };
      for (std::size_t i = 0; i < instances_.size(); ++i) {
        instances_[i].number = first + static_cast<std::int64_t>(i);
      }
      for_tasks([&](std::span<Instance> instances) { Walk(request, instances); });
      // The calling thread has a place of its own in the arena, so it makes the evaluations.
      arena_.execute([&] { Solve(instances_, request.first_row, stop); });
      for_tasks([&](std::span<Instance> instances) { Write(request, instances, out); });
    }
  }

  // A search counts as solved if its solution costs at most the walk's way back.
  std::optional<double> searches_solved() const override { return solved_.MeanShare(); }

 private:
  struct Instance {
    std::int64_t number = 0;
    std::vector<std::uint8_t> states;  // of the walk, from the goal on
    std::vector<Action> way_back;      // from the last of the states to the goal
    std::size_t start = 0;             // number of actions of the walk before the search
    std::vector<Action> solution;      // from the start; empty if none was found
  };

  // Takes the walks of instances, without the steps that leave the state as it is and without goals
  // on the way, and draws the starts.
  void Walk(const FillRequest& request, std::span<Instance> instances) const {
    const Span span(Activity::kScramble);
    std::vector<Random> randoms;
    for (const Instance& instance : instances) {
      randoms.emplace_back(seed_, Purpose::kScramble, request.update, instance.number);
    }
    RandomWalks walks(domain_, kind_);
    walks.Begin(randoms, std::vector<std::int64_t>(instances.size(), walk_length_));
    for (std::size_t i = 0; i < instances.size(); ++i) {
      instances[i].states.assign(walks.state(i).begin(), walks.state(i).end());
      instances[i].way_back.clear();
    }
    while (walks.Step()) {
      for (std::size_t i = 0; i < instances.size(); ++i) {
        Instance& instance = instances[i];
        const std::span<const std::uint8_t> state = walks.state(i);
        if (std::ranges::equal(state, State(instance, instance.way_back.size()))) continue;
        instance.states.insert(instance.states.end(), state.begin(), state.end());
        if (!walks.back(i)) {
          throw Error(fmt::format("domain '{}': a step changed a state, but no action applied",
                                  domain_.spec().name));
        }
        instance.way_back.push_back(*walks.back(i));
      }
    }
    KeepPartsFromLastGoal(instances);
    for (Instance& instance : instances) {
      std::ranges::reverse(instance.way_back);
      DrawStart(request, instance);
    }
  }

  void DrawStart(const FillRequest& request, Instance& instance) const {
    Random random(seed_, Purpose::kRollout, request.update, instance.number);
    const std::int64_t longest =
        std::min(request.longest_scramble.value_or(walk_length_), std::ssize(instance.way_back));
    instance.start = longest == 0 ? 0 : 1 + random.Below(static_cast<std::uint64_t>(longest));
    instance.solution.clear();
  }

  // Shortens each walk to its part from the last goal on, since a goal needs no action and costs
  // nothing. Goals at the end are dropped first.
  void KeepPartsFromLastGoal(std::span<Instance> instances) const {
    const std::size_t size = StateSize();
    std::vector<std::uint8_t> all;
    for (const Instance& instance : instances) {
      all.insert(all.end(), instance.states.begin(), instance.states.end());
    }
    std::vector<std::uint8_t> flags(all.size() / size);
    domain_.IsGoal(ConstRows(all.data(), flags.size(), size), flags);
    const std::uint8_t* is_goal = flags.data();
    for (Instance& instance : instances) {
      const std::size_t states = instance.way_back.size() + 1;
      std::size_t last = states - 1;
      while (last > 0 && is_goal[last] != 0) --last;
      std::size_t first = last;
      while (first > 0 && is_goal[first] == 0) --first;
      instance.states = {instance.states.data() + first * size,
                         instance.states.data() + (last + 1) * size};
      instance.way_back = {instance.way_back.data() + first, instance.way_back.data() + last};
      is_goal += states;
    }
  }

  // Searches from the starts. The request that has an instance's first row counts the instance.
  void Solve(std::span<Instance> instances, std::int64_t first_row, const StopSignal& stop) {
    std::vector<std::uint8_t> starts;
    std::vector<float> at_most;
    for (const Instance& instance : instances) {
      std::ranges::copy(State(instance, instance.start), std::back_inserter(starts));
      at_most.push_back(CostOf(domain_.spec(), WayBack(instance, instance.start)));
    }
    const ConstRows rows(starts.data(), instances.size(), StateSize());
    search_->SolveAll(ProblemBatch(rows, at_most), stop, [&](std::size_t i, SearchResult result) {
      if (result.solved) instances[i].solution = std::move(result.actions);
      if (instances[i].number * walk_length_ < first_row) return;
      solved_.Add(static_cast<std::int64_t>(instances[i].start), result.solved);
    });
  }

  void Write(const FillRequest& request, std::span<const Instance> instances,
             DataBuffer& out) const {
    std::vector<std::uint8_t> states;
    std::vector<PathRow> paths;
    const auto add = [&](const Instance& instance, std::size_t row,
                         std::span<const std::uint8_t> state, std::span<const Action> rest) {
      const std::optional<std::size_t> in_fill =
          request.RowInFill(instance.number * walk_length_ + static_cast<std::int64_t>(row));
      if (std::cmp_greater_equal(row, walk_length_) || !in_fill) return;
      states.insert(states.end(), state.begin(), state.end());
      paths.push_back({.row = *in_fill, .rest = rest});
    };
    ReplaySolutions(instances, [&](const Instance& instance, std::size_t taken,
                                   std::span<const std::uint8_t> state) {
      const std::span<const Action> rest = std::span(instance.solution).subspan(taken);
      add(instance, rest.size() - 1, state, rest);
    });
    for (const Instance& instance : instances) {
      for (auto row = std::ssize(instance.solution); row < walk_length_; ++row) {
        const std::size_t taken =
            std::min(static_cast<std::size_t>(row) + 1, instance.way_back.size());
        add(instance, static_cast<std::size_t>(row), State(instance, taken),
            WayBack(instance, taken));
      }
    }
    labels_.Write(ConstRows(states.data(), paths.size(), StateSize()), paths, out);
  }

  // Calls visit(instance, taken, state) for the state before each action of each solution, `taken`
  // actions after the start. The solutions advance in lock step.
  void ReplaySolutions(std::span<const Instance> instances, const auto& visit) const {
    std::vector<const Instance*> open;
    std::vector<std::uint8_t> memory;
    for (const Instance& instance : instances) {
      if (instance.solution.empty()) continue;
      open.push_back(&instance);
      std::ranges::copy(State(instance, instance.start), std::back_inserter(memory));
    }
    for (std::size_t taken = 0; !open.empty(); ++taken) {
      const Rows states(memory.data(), open.size(), StateSize());
      std::vector<Action> actions;
      for (std::size_t i = 0; i < open.size(); ++i) {
        visit(*open[i], taken, states[i]);
        actions.push_back(open[i]->solution[taken]);
      }
      domain_.Apply(states, actions);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (open[i]->solution.size() == taken + 1) continue;
        std::ranges::copy(states[i], states[kept].begin());
        open[kept++] = open[i];
      }
      open.resize(kept);
    }
  }

  std::size_t StateSize() const { return static_cast<std::size_t>(domain_.spec().state_size); }

  std::span<const std::uint8_t> State(const Instance& instance, std::size_t taken) const {
    return std::span(instance.states).subspan(taken * StateSize(), StateSize());
  }

  // The way back of the walk's state after `taken` actions.
  static std::span<const Action> WayBack(const Instance& instance, std::size_t taken) {
    return std::span(instance.way_back).last(taken);
  }

  const Domain& domain_;
  const PathLabels labels_;
  const WalkKind kind_;
  const std::int64_t walk_length_;
  const std::int64_t at_once_;  // instances
  const std::uint64_t seed_;
  const Schema schema_;
  const std::unique_ptr<Search> search_;
  tbb::task_arena arena_;
  std::vector<Instance> instances_;  // those that are searched together
  SolvedByLength solved_;            // by the number of actions before the search
};

}  // namespace

std::unique_ptr<Generator> MakeOwnSolutionsGenerator(const Domain& domain, Evaluator& network,
                                                     const Config& config) {
  return std::make_unique<OwnSolutionsGenerator>(domain, network, config);
}

}  // namespace tandem
