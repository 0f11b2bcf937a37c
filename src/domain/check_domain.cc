#include "tandem/check_domain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "domain/check_game.h"
#include "domain/random_walks.h"
#include "tandem/domain.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using State = std::span<const std::uint8_t>;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kWalks = 60;  // also about the number of steps of the longest walk

// SampledStates holds states of a domain, each the end of a random walk, and calls the domain's
// methods with single states. All methods throw what the domain throws.
class SampledStates {
 public:
  // Takes `count` walks, of 0 to count - 1 steps. `domain` must outlive this object.
  SampledStates(const Domain& domain, std::size_t count)
      : domain_(domain), size_(count), bytes_(count * row_size()) {
    constexpr std::uint64_t kSeed = 7;
    std::vector<Random> randoms;
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < size_; ++i) {
      randoms.emplace_back(kSeed, Purpose::kScramble, 0, i);
      lengths.push_back(static_cast<std::int64_t>(i));
    }
    std::vector<float> unused(size_);
    WalkFromGoals(domain_, randoms, lengths, Rows(bytes_.data(), size_, row_size()), unused);
  }

  const Domain& domain() const { return domain_; }
  const DomainSpec& spec() const { return domain_.spec(); }
  std::size_t num_actions() const { return static_cast<std::size_t>(spec().num_actions()); }
  std::size_t size() const { return size_; }
  ConstRows states() const { return {bytes_.data(), size_, row_size()}; }
  std::size_t row_size() const { return static_cast<std::size_t>(spec().state_size); }

  Bytes After(State state, Action action) const {
    Bytes child(state.begin(), state.end());
    domain_.Apply(Rows(std::span(child)), {&action, 1});
    return child;
  }

  // Throws Error if the domain's flag is neither 0 nor 1.
  bool IsGoal(State state) const {
    std::uint8_t is_goal = 2;
    domain_.IsGoal(ConstRows(state), {&is_goal, 1});
    if (is_goal <= 1) return is_goal != 0;
    throw Error(fmt::format("{}: IsGoal sets the flag to {}, expected 1 for a goal, else 0",
                            NameOf(state), is_goal));
  }

  // Returns one flag per action.
  Bytes MaskOf(State state) const {
    Bytes applies(num_actions(), 2);
    domain_.Mask(ConstRows(state), applies);
    return applies;
  }

  // Returns the network's input.
  Bytes InputOf(State state) const {
    Bytes input(static_cast<std::size_t>(spec().input.positions), 0xEE);
    domain_.Encode(ConstRows(state), Rows(std::span(input)));
    return input;
  }

  // Returns "state X", or the state's bytes if FormatState throws.
  std::string NameOf(State state) const {
    try {
      const std::string text = domain_.FormatState(state);
      return "state " + (spec().multiline_states ? "\n" + text + "\n" : text);
    } catch (...) {
      return fmt::format("the state of bytes {}", fmt::join(state, " "));
    }
  }

  std::string NameOf(State state, Action action) const {
    return fmt::format("action {} in {}", spec().action_names[action], NameOf(state));
  }

  // Calls find(state) for each state, and returns its first result that is not empty, or "".
  std::string FirstOfStates(const auto& find) const {
    for (std::size_t i = 0; i < size_; ++i) {
      std::string found = find(states()[i]);
      if (!found.empty()) return found;
    }
    return "";
  }

  // Calls find(state, action) for each pair, and returns its first result that is not empty, or "".
  std::string FirstOfActions(const auto& find) const {
    return FirstOfStates([&](State state) -> std::string {
      for (std::size_t a = 0; a < num_actions(); ++a) {
        std::string found = find(state, static_cast<Action>(a));
        if (!found.empty()) return found;
      }
      return "";
    });
  }

 private:
  const Domain& domain_;
  const std::size_t size_;
  Bytes bytes_;
};

// What a method wrote for some of the samples.
struct Result {
  std::string_view method;
  Bytes bytes;
  bool writes_outside = false;  // the rows that it was given
};

// Calls every batch method with `count` samples from `first` on.
std::vector<Result> RunAll(const SampledStates& samples, std::size_t first, std::size_t count) {
  const Domain& domain = samples.domain();
  const ConstRows states = samples.states().Slice(first, count);
  const std::size_t num_actions = samples.num_actions();
  std::vector<Result> results;
  const auto run = [&](std::string_view method, std::size_t rows, std::size_t row_size,
                       const auto& call) {
    constexpr std::size_t kMargin = 64;  // on both sides, where writes are noticed
    constexpr std::uint8_t kMark = 0xA5;
    Bytes bytes(rows * row_size + 2 * kMargin, kMark);
    const std::span inside = std::span(bytes).subspan(kMargin, rows * row_size);
    call(Rows(inside.data(), rows, row_size));
    const auto untouched = [](State margin) {
      return std::ranges::all_of(margin, [](std::uint8_t byte) { return byte == kMark; });
    };
    const std::span<const std::uint8_t> all = bytes;
    results.push_back(
        {.method = method,
         .bytes = Bytes(inside.begin(), inside.end()),
         .writes_outside = !untouched(all.first(kMargin)) || !untouched(all.last(kMargin))});
  };
  run("Apply", count, samples.row_size(), [&](Rows rows) {
    std::ranges::copy(states.bytes(), rows.data());
    std::vector<Action> actions;
    for (std::size_t i = 0; i < count; ++i) {
      actions.push_back(static_cast<Action>((first + i) % num_actions));
    }
    domain.Apply(rows, actions);
  });
  run("Expand", count * num_actions, samples.row_size(),
      [&](Rows rows) { domain.Expand(states, rows); });
  run("Encode", count, static_cast<std::size_t>(samples.spec().input.positions),
      [&](Rows rows) { domain.Encode(states, rows); });
  run("Mask", count, num_actions, [&](Rows rows) { domain.Mask(states, rows.bytes()); });
  run("IsGoal", count, 1, [&](Rows rows) { domain.IsGoal(states, rows.bytes()); });
  return results;
}

std::vector<Result> RunAll(const SampledStates& samples) {
  return RunAll(samples, 0, samples.size());
}

// Says in which state the results of a method for all samples differ; "" if they are equal.
std::string AnyDifference(const SampledStates& samples, const std::vector<Result>& a,
                          const std::vector<Result>& b, std::string_view complaint) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto at = std::ranges::mismatch(a[i].bytes, b[i].bytes).in1;
    if (at == a[i].bytes.end()) continue;
    const auto byte = static_cast<std::size_t>(at - a[i].bytes.begin());
    const std::size_t row = byte / (a[i].bytes.size() / samples.size());
    const State state = samples.states()[row];
    const bool of_actions = a[i].method == "Apply";
    const auto action = static_cast<Action>(row % samples.num_actions());
    return fmt::format("{} of {} {}", a[i].method,
                       of_actions ? samples.NameOf(state, action) : samples.NameOf(state),
                       complaint);
  }
  return "";
}

std::string CheckDeterminism(const SampledStates& samples) {
  return AnyDifference(samples, RunAll(samples), RunAll(samples), "differs from call to call");
}

std::string CheckBatches(const SampledStates& samples) {
  std::vector<Result> single = RunAll(samples, 0, 0);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::vector<Result> next = RunAll(samples, i, 1);
    for (std::size_t m = 0; m < next.size(); ++m) {
      single[m].bytes.insert(single[m].bytes.end(), next[m].bytes.begin(), next[m].bytes.end());
    }
  }
  return AnyDifference(samples, RunAll(samples), single,
                       "differs between a batch and a single row");
}

std::string CheckExpand(const SampledStates& samples) {
  Bytes bytes(samples.num_actions() * samples.row_size());
  const Rows children(bytes.data(), samples.num_actions(), samples.row_size());
  return samples.FirstOfActions([&](State state, Action action) -> std::string {
    if (action == 0) samples.domain().Expand(ConstRows(state), children);
    const Bytes applied = samples.After(state, action);
    if (std::ranges::equal(applied, children[action])) return "";
    return fmt::format("{}: Expand gives {}, Apply gives {}", samples.NameOf(state, action),
                       samples.NameOf(children[action]), samples.NameOf(applied));
  });
}

std::string CheckMargins(const SampledStates& samples) {
  for (const std::size_t rows : {samples.size(), std::size_t{0}}) {
    for (const Result& result : RunAll(samples, 0, rows)) {
      if (!result.writes_outside) continue;
      return fmt::format("{} writes before the first row or after the last row of a batch{}",
                         result.method, rows == 0 ? " without rows" : "");
    }
  }
  return "";
}

std::string CheckThreads(const SampledStates& samples, int workers) {
  constexpr int kRepeats = 5;
  const std::vector<Result> alone = RunAll(samples);
  const auto compare = [&]() -> std::string {
    std::string found;
    for (int i = 0; i < kRepeats && found.empty(); ++i) {
      found =
          AnyDifference(samples, alone, RunAll(samples), "differs if several threads call at once");
    }
    return found;
  };
  std::vector<std::future<std::string>> results(static_cast<std::size_t>(workers));
  for (std::future<std::string>& result : results) result = std::async(std::launch::async, compare);
  for (std::future<std::string>& result : results) {
    std::string found = result.get();
    if (!found.empty()) return found;
  }
  return "";
}

std::string CheckNames(const SampledStates& samples) {
  std::set<std::string> names;
  for (const std::string& name : samples.spec().action_names) {
    if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos) {
      return fmt::format("action name '{}': expected a word without white space", name);
    }
    if (!names.insert(name).second) return fmt::format("two actions are named {}", name);
  }
  return "";
}

std::string CheckGoals(const SampledStates& samples) {
  const Domain& domain = samples.domain();
  constexpr std::size_t kGoals = 20;
  const std::size_t row_size = samples.row_size();
  Bytes same(kGoals * row_size);
  Bytes drawn(kGoals * row_size);
  const Rows same_rows(same.data(), kGoals, row_size);
  const Rows drawn_rows(drawn.data(), kGoals, row_size);
  std::vector<std::uint64_t> seeds(kGoals);
  for (std::size_t i = 0; i < kGoals; ++i) seeds[i] = Random(i, Purpose::kScramble).Next();
  domain.WriteGoals(same_rows);
  domain.DrawGoals(drawn_rows, seeds);
  for (std::size_t i = 0; i < kGoals; ++i) {
    if (!samples.IsGoal(same_rows[i])) {
      return "IsGoal rejects a goal that WriteGoals wrote: " + samples.NameOf(same_rows[i]);
    }
    if (!samples.IsGoal(drawn_rows[i])) {
      return "IsGoal rejects a goal that DrawGoals wrote: " + samples.NameOf(drawn_rows[i]);
    }
    if (!std::ranges::equal(same_rows[i], same_rows[0])) {
      return "WriteGoals writes different goals: " + samples.NameOf(same_rows[i]);
    }
  }
  if (!samples.spec().per_problem_goals && drawn != same) {
    return "DrawGoals and WriteGoals differ, yet per_problem_goals is false";
  }
  if (samples.spec().per_problem_goals && same == drawn) {
    return "DrawGoals writes the same goal for every seed, yet per_problem_goals is true";
  }
  return "";
}

std::string CheckMasks(const SampledStates& samples) {
  return samples.FirstOfStates([&](State state) -> std::string {
    const std::vector<std::uint8_t> applies = samples.MaskOf(state);
    for (std::size_t a = 0; a < applies.size(); ++a) {
      const auto action = static_cast<Action>(a);
      const bool changes = !std::ranges::equal(samples.After(state, action), state);
      const auto name = [&] { return samples.NameOf(state, action); };
      if (applies[a] > 1) {
        return fmt::format("{}: Mask says {}, expected 0 or 1", name(), applies[a]);
      }
      if (applies[a] == 0 && !samples.spec().masks_actions) {
        return name() + ": Mask says that it does not apply, yet masks_actions is false";
      }
      if (applies[a] == 0 && changes) {
        return name() + ": Mask says that it does not apply, yet Apply changes the state";
      }
      if (applies[a] == 1 && !changes && samples.spec().masks_actions) {
        return name() + ": Mask says that it applies, yet Apply leaves the state unchanged";
      }
    }
    return "";
  });
}

std::string CheckInverses(const SampledStates& samples) {
  if (samples.spec().inverse_actions.empty()) return "";  // CheckStepsBack checks such puzzles
  return samples.FirstOfActions([&](State state, Action action) -> std::string {
    if (samples.MaskOf(state)[action] == 0) return "";
    const Action inverse = samples.spec().inverse_actions[action];
    const std::string& name = samples.spec().action_names[inverse];
    const Bytes child = samples.After(state, action);
    if (samples.MaskOf(child)[inverse] == 0) {
      return fmt::format("{}: its inverse {} does not apply after it",
                         samples.NameOf(state, action), name);
    }
    const Bytes back = samples.After(child, inverse);
    if (std::ranges::equal(back, state)) return "";
    return fmt::format("{}: {} does not undo it, but leads to {}", samples.NameOf(state, action),
                       name, samples.NameOf(back));
  });
}

std::string CheckStepsBack(const SampledStates& samples) {
  if (!samples.spec().inverse_actions.empty()) return "";
  std::uint64_t random = 0;
  return samples.FirstOfStates([&](State state) -> std::string {
    random = Random(random, Purpose::kRollout).Next();
    Bytes before(state.begin(), state.end());
    Bytes again = before;
    std::optional<Action> action;
    std::optional<Action> same;
    samples.domain().StepBack(Rows(std::span(before)), {&random, 1}, {&action, 1});
    samples.domain().StepBack(Rows(std::span(again)), {&random, 1}, {&same, 1});
    const std::string name = "StepBack from " + samples.NameOf(state);
    if (same != action || again != before) {
      return name + " differs from call to call";
    }
    if (!action) {
      return std::ranges::equal(before, state) ? "" : name + " returns nothing, yet changes it";
    }
    if (*action >= samples.num_actions()) return fmt::format("{} returns {}", name, *action);
    if (std::ranges::equal(samples.After(before, *action), state)) return "";
    return fmt::format("{} leads to {}, but action {} does not lead back from there", name,
                       samples.NameOf(before), samples.spec().action_names[*action]);
  });
}

std::string CheckPredecessors(const SampledStates& samples) {
  Bytes before;
  const auto find = [&](State state) {
    before.clear();
    return samples.domain().Predecessors(ConstRows(state), before);
  };
  const auto has = [&](State state) {
    for (std::size_t at = 0; at < before.size(); at += state.size()) {
      if (std::ranges::equal(std::span(before).subspan(at, state.size()), state)) return true;
    }
    return false;
  };
  return samples.FirstOfActions([&](State state, Action action) -> std::string {
    const Bytes child = samples.After(state, action);
    if (std::ranges::equal(child, state) || !find(child)) return "";
    if (!has(state)) return samples.NameOf(state, action) + ": Predecessors does not lead back";
    for (std::size_t at = 0; at < before.size(); at += state.size()) {
      const State other = std::span(before).subspan(at, state.size());
      // Predecessors are often in the order of the actions, so the first guess is usually right.
      const std::size_t guess = at / state.size();
      bool leads = false;
      for (std::size_t a = 0; a < samples.num_actions() && !leads; ++a) {
        const auto next = static_cast<Action>((guess + a) % samples.num_actions());
        leads = samples.After(other, next) == child;
      }
      if (!leads) {
        return fmt::format("Predecessors of {} has {}, from which no action leads there",
                           samples.NameOf(child), samples.NameOf(other));
      }
    }
    return "";
  });
}

// Adds the goals of the problem of `goal` to `found`. Returns an error if AllGoals appends a state
// that is not a goal, or "".
std::string FindAllGoals(const SampledStates& samples, State goal, std::vector<Bytes>& found) {
  Bytes goals;
  samples.domain().AllGoals(goal, goals);
  for (std::size_t at = 0; at < goals.size(); at += goal.size()) {
    const State other = std::span(goals).subspan(at, goal.size());
    if (!samples.IsGoal(other)) {
      return "AllGoals has a state that is not a goal: " + samples.NameOf(other);
    }
    found.emplace_back(other.begin(), other.end());
  }
  return "";
}

// Looks for goals on random walks from the goals of problems.
std::string CheckAllGoals(const SampledStates& samples) {
  const Domain& domain = samples.domain();
  Bytes state(samples.row_size());
  Bytes unused;
  domain.WriteGoals(Rows(std::span(state)));
  if (!samples.spec().per_problem_goals || !domain.Predecessors(ConstRows(State(state)), unused)) {
    return "";
  }
  for (std::uint64_t seed = 0; seed < kWalks; ++seed) {
    domain.DrawGoals(Rows(std::span(state)), {&seed, 1});
    std::vector<Bytes> goals;
    if (std::string wrong = FindAllGoals(samples, state, goals); !wrong.empty()) return wrong;
    Random random(5, Purpose::kScramble, 0, seed);
    for (std::size_t step = 0; step < kWalks; ++step) {
      if (samples.IsGoal(state) && std::ranges::find(goals, state) == goals.end()) {
        return "AllGoals lacks a goal of the problem: " + samples.NameOf(state);
      }
      state = samples.After(state, static_cast<Action>(random.Below(samples.num_actions())));
    }
  }
  return "";
}

// Takes random walks, and walks back by the actions that they report.
std::string CheckScrambles(const SampledStates& samples) {
  for (std::size_t steps = 0; steps < kWalks; ++steps) {
    RandomWalks walks(samples.domain());
    const Random random(3, Purpose::kScramble, 0, steps);
    const auto length = static_cast<std::int64_t>(steps);
    walks.Begin({&random, 1}, {&length, 1});
    Bytes state(walks.state(0).begin(), walks.state(0).end());
    if (!samples.IsGoal(state)) {
      return "a walk begins at a state that is not a goal: " + samples.NameOf(state);
    }
    std::vector<Action> back;
    while (walks.Step()) {
      const bool moved = !std::ranges::equal(walks.state(0), state);
      if (moved && walks.back(0)) back.push_back(*walks.back(0));
      std::ranges::copy(walks.state(0), state.begin());
    }
    const std::string name = samples.NameOf(state);
    std::ranges::reverse(back);
    for (const Action action : back) state = samples.After(state, action);
    if (!samples.IsGoal(state)) {
      return fmt::format("{}: {} should undo the {} that led there, but the result is not a goal",
                         name, FormatActions(samples.spec(), back),
                         Counted(static_cast<long long>(steps), "step"));
    }
  }
  return "";
}

// Finds puzzles in which walks meet goals only, because IsGoal is always true or because no action
// leaves the goal. Nothing can be learned from either.
std::string CheckLeaving(const SampledStates& samples) {
  std::vector<Random> randoms;
  for (std::size_t i = 0; i < kWalks; ++i) randoms.emplace_back(4, Purpose::kScramble, 0, i);
  RandomWalks walks(samples.domain());
  walks.Begin(randoms, std::vector<std::int64_t>(kWalks, kWalks));
  std::vector<Bytes> starts;
  for (std::size_t i = 0; i < kWalks; ++i) {
    starts.emplace_back(walks.state(i).begin(), walks.state(i).end());
  }
  bool moved = false;
  while (walks.Step()) {
    for (std::size_t i = 0; i < kWalks; ++i) {
      if (!samples.IsGoal(walks.state(i))) return "";
      moved = moved || !std::ranges::equal(walks.state(i), starts[i]);
    }
  }
  const std::string name = samples.NameOf(walks.state(kWalks - 1));
  if (moved) return "IsGoal accepts every state of the walks as a goal, for example " + name;
  if (samples.spec().inverse_actions.empty()) {
    return "StepBack does not change the goal, so there is no other state: " + name;
  }
  return "no action changes the goal, so there is no other state: " + name;
}

std::string CheckInputs(const SampledStates& samples) {
  return samples.FirstOfStates([&](State state) -> std::string {
    const Bytes input = samples.InputOf(state);
    const int depth = samples.spec().input.depth;
    const auto beyond =
        std::ranges::find_if(input, [&](std::uint8_t value) { return value >= depth; });
    if (beyond == input.end()) return "";
    return fmt::format("{}: position {} of its input is {}, expected below {}",
                       samples.NameOf(state), beyond - input.begin(), *beyond, depth);
  });
}

std::string CheckInjectivity(const SampledStates& samples) {
  std::map<std::string, State> seen;
  return samples.FirstOfStates([&](State state) -> std::string {
    const Bytes input = samples.InputOf(state);
    const auto [at, is_new] = seen.emplace(std::string(input.begin(), input.end()), state);
    if (is_new || std::ranges::equal(at->second, state)) return "";
    return fmt::format("{} and {} have the same input", samples.NameOf(at->second),
                       samples.NameOf(state));
  });
}

std::string CheckNotation(const SampledStates& samples) {
  const Domain& domain = samples.domain();
  for (std::size_t a = 0; a < samples.num_actions(); ++a) {
    const std::string& name = samples.spec().action_names[a];
    if (ParseActions(samples.spec(), name) != std::vector{static_cast<Action>(a)}) {
      return fmt::format("action name {} is parsed as another action", name);
    }
  }
  return samples.FirstOfStates([&](State state) -> std::string {
    const std::string text = domain.FormatState(state);
    if (!samples.spec().multiline_states && text.find('\n') != std::string::npos) {
      return samples.NameOf(state) + ": its text has several lines, yet multiline_states is false";
    }
    Bytes again(samples.row_size(), 0xEE);
    try {
      domain.ParseState(text, again);
    } catch (const InputError& error) {
      return fmt::format("{}: ParseState rejects its text: {}", samples.NameOf(state),
                         error.what());
    }
    if (std::ranges::equal(again, state)) return "";
    return fmt::format("{}: its bytes are {}, but its text is parsed as {}", samples.NameOf(state),
                       fmt::join(state, " "), fmt::join(again, " "));
  });
}

std::string CheckRefusals(const SampledStates& samples) {
  constexpr std::array<const char*, 4> kNoStates = {"", "\xff", "\n", "no such state"};
  Bytes state(samples.row_size());
  for (const char* text : kNoStates) {
    try {
      samples.domain().ParseState(text, state);
    } catch (const InputError&) {
      continue;
    } catch (const std::exception& error) {
      return fmt::format("ParseState of '{}' throws another exception than InputError: {}", text,
                         error.what());
    } catch (...) {
      return fmt::format("ParseState of '{}' throws another exception than InputError", text);
    }
    return fmt::format("ParseState accepts '{}' as a state", text);
  }
  return "";
}

std::string CheckPicture(const SampledStates& samples) {
  return samples.FirstOfStates([&](State state) -> std::string {
    const Picture picture = samples.domain().Draw(state);
    if (picture.cells.empty()) return samples.NameOf(state) + ": the picture has no cells";
    if (picture.unit_width < 1) {
      return fmt::format("{}: unit_width of the picture is {}, expected at least 1",
                         samples.NameOf(state), picture.unit_width);
    }
    for (const Cell& cell : picture.cells) {
      if (std::isfinite(cell.x) && std::isfinite(cell.y) && cell.width > 0) continue;
      return fmt::format(
          "{}: the picture has a cell with x {}, y {} and width {}, expected numbers "
          "and a width above 0",
          samples.NameOf(state), cell.x, cell.y, cell.width);
    }
    return "";
  });
}

// Moving the goal before an action and after it must give the same state.
std::string CheckMovedGoals(const SampledStates& samples) {
  if (!samples.spec().moves_goals) return "";
  return samples.FirstOfActions([&](State state, Action action) -> std::string {
    const Bytes reached = samples.After(state, action);
    Bytes before(state.begin(), state.end());
    Bytes after = reached;
    samples.domain().MoveGoals(Rows(std::span(before)), reached);
    samples.domain().MoveGoals(Rows(std::span(after)), reached);
    const std::string name = samples.NameOf(state, action);
    if (!samples.IsGoal(after)) return name + " does not lead to the goal that MoveGoals set";
    if (samples.After(before, action) == after) return "";
    return name + " leads to another state after MoveGoals";
  });
}

struct Promise {
  const char* text;
  std::string (*check)(const SampledStates& samples);
  bool of_puzzles = false;  // and not of games, which are played from their start
};

constexpr auto kPromises = std::to_array<Promise>({
    {"action names are different words", CheckNames},
    {"WriteGoals and DrawGoals write goals", CheckGoals, true},
    {"methods are deterministic", CheckDeterminism},
    {"a batch gives the same results as single rows", CheckBatches},
    {"Expand gives the same children as Apply", CheckExpand},
    {"nothing is written outside the rows", CheckMargins},
    {"Mask says which actions change a state", CheckMasks},
    {"inverse actions undo their actions", CheckInverses},
    {"the action that StepBack returns leads back", CheckStepsBack, true},
    {"actions lead from the states of Predecessors, and only from them", CheckPredecessors},
    {"AllGoals has all goals of a problem", CheckAllGoals},
    {"MoveGoals changes only the goal", CheckMovedGoals},
    {"scrambles can be undone", CheckScrambles, true},
    {"scrambles leave the goal", CheckLeaving, true},
    {"network inputs are below input.depth", CheckInputs},
    {"different states have different inputs", CheckInjectivity},
    {"states and actions survive the round trip through text", CheckNotation},
    {"text that is not a state is rejected with InputError", CheckRefusals},
    {"every state has a picture", CheckPicture},
});

// Calls a check. If it throws, the exception is the check's result.
std::string ResultOf(const auto& check) {
  try {
    return check();
  } catch (const std::exception& error) {
    return fmt::format("exception: {}", error.what());
  } catch (...) {
    return "unknown exception (not derived from std::exception)";
  }
}

double CallsPerSecond(double seconds, const auto& call) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  std::chrono::duration<double> passed{};
  std::int64_t calls = 0;
  do {
    call();
    ++calls;
    passed = Clock::now() - began;
  } while (passed.count() < seconds);
  return static_cast<double>(calls) / passed.count();
}

}  // namespace

std::vector<DomainCheck> CheckDomain(const Domain& domain, const CheckDomainOptions& options) {
  std::vector<DomainCheck> checks;
  const auto check = [&](const std::string& promise, const auto& run) {
    checks.push_back({.promise = promise, .broken = ResultOf(run)});
  };
  std::optional<SampledStates> samples;
  const GameDomain* const game = AsGame(domain);
  std::vector<GamePromise> of_game;
  check("random walks can be taken", [&] {
    samples.emplace(domain, options.states);
    if (game != nullptr) of_game = GamePromises(*game);
    return "";
  });
  if (!checks.back().broken.empty()) return checks;
  for (const Promise& promise : kPromises) {
    if (game != nullptr && promise.of_puzzles) continue;
    check(promise.text, [&] { return promise.check(*samples); });
  }
  for (const GamePromise& promise : of_game) {
    check(promise.text, [&] { return promise.check(*game, samples->states()); });
  }
  check("several threads may call it at once",
        [&] { return CheckThreads(*samples, options.workers); });
  return checks;
}

DomainRates MeasureDomain(const Domain& domain, double seconds) {
  constexpr std::size_t kStates = 256;
  const SampledStates samples(domain, kStates);
  const std::size_t num_actions = samples.num_actions();
  Bytes states(samples.states().bytes().begin(), samples.states().bytes().end());
  Bytes children(states.size() * num_actions);
  std::vector<Action> actions(kStates);
  for (std::size_t i = 0; i < kStates; ++i) actions[i] = static_cast<Action>(i % num_actions);
  const Rows rows(states.data(), kStates, samples.row_size());
  DomainRates rates;
  rates.expanded = kStates * static_cast<double>(num_actions) * CallsPerSecond(seconds, [&] {
                     domain.Expand(rows, {children.data(), kStates * num_actions, rows.row_size()});
                   });
  rates.applied = kStates * CallsPerSecond(seconds, [&] { domain.Apply(rows, actions); });
  return rates;
}

}  // namespace tandem
