#include "tandem/check_domain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "domain/random_walk.h"
#include "domain/sampled_states.h"
#include "tandem/domain.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using StateBytes = SampledStates::Bytes;
using State = SampledStates::State;

constexpr std::size_t kWalks = 60;  // also about the number of steps of the longest walk

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
  StateBytes same(kGoals * row_size);
  StateBytes drawn(kGoals * row_size);
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
      const std::string name = samples.NameOf(state, action);
      if (applies[a] > 1) return fmt::format("{}: Mask says {}, expected 0 or 1", name, applies[a]);
      if (applies[a] == 0 && !samples.spec().masks_actions) {
        return name + ": Mask says that it does not apply, yet masks_actions is false";
      }
      if (applies[a] == 0 && changes) {
        return name + ": Mask says that it does not apply, yet Apply changes the state";
      }
      if (applies[a] == 1 && !changes && samples.spec().masks_actions) {
        return name + ": Mask says that it applies, yet Apply leaves the state unchanged";
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
    const StateBytes child = samples.After(state, action);
    if (samples.MaskOf(child)[inverse] == 0) {
      return fmt::format("{}: its inverse {} does not apply after it",
                         samples.NameOf(state, action), name);
    }
    const StateBytes back = samples.After(child, inverse);
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
    StateBytes before(state.begin(), state.end());
    StateBytes again = before;
    const std::optional<Action> action = samples.domain().StepBack(before, random);
    const std::string name = "StepBack from " + samples.NameOf(state);
    if (samples.domain().StepBack(again, random) != action || again != before) {
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
  StateBytes before;
  const auto find = [&](State state) {
    before.clear();
    return samples.domain().Predecessors(state, before);
  };
  const auto has = [&](State state) {
    for (std::size_t at = 0; at < before.size(); at += state.size()) {
      if (std::ranges::equal(std::span(before).subspan(at, state.size()), state)) return true;
    }
    return false;
  };
  return samples.FirstOfActions([&](State state, Action action) -> std::string {
    const StateBytes child = samples.After(state, action);
    if (std::ranges::equal(child, state) || !find(child)) return "";
    if (!has(state)) return samples.NameOf(state, action) + ": Predecessors does not lead back";
    for (std::size_t at = 0; at < before.size(); at += state.size()) {
      const State other = std::span(before).subspan(at, state.size());
      bool leads = false;
      for (std::size_t a = 0; a < samples.num_actions(); ++a) {
        leads = leads || samples.After(other, static_cast<Action>(a)) == child;
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
std::string FindAllGoals(const SampledStates& samples, State goal, std::vector<StateBytes>& found) {
  StateBytes goals;
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
  StateBytes state(samples.row_size());
  StateBytes unused;
  domain.WriteGoals(Rows(std::span(state)));
  if (!samples.spec().per_problem_goals || !domain.Predecessors(state, unused)) return "";
  for (std::uint64_t seed = 0; seed < kWalks; ++seed) {
    domain.DrawGoals(Rows(std::span(state)), {&seed, 1});
    std::vector<StateBytes> goals;
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
  StateBytes state(samples.row_size());
  for (std::size_t steps = 0; steps < kWalks; ++steps) {
    RandomWalk walk(samples.domain(), Random(3, Purpose::kScramble, 0, steps), state);
    if (!samples.IsGoal(state)) {
      return "a walk begins at a state that is not a goal: " + samples.NameOf(state);
    }
    std::vector<Action> back;
    for (std::size_t i = 0; i < steps; ++i) {
      const StateBytes before(state.begin(), state.end());  // Step writes into `state`
      walk.Step();
      if (state != before && walk.back()) back.push_back(*walk.back());
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
  StateBytes state(samples.row_size());
  bool moved = false;
  for (std::size_t number = 0; number < kWalks; ++number) {
    RandomWalk walk(samples.domain(), Random(4, Purpose::kScramble, 0, number), state);
    const StateBytes start = state;
    for (std::size_t steps = 0; steps < kWalks; ++steps) {
      walk.Step();
      if (!samples.IsGoal(state)) return "";
      moved = moved || state != start;
    }
  }
  const std::string name = samples.NameOf(state);
  if (moved) return "IsGoal accepts every state of the walks as a goal, for example " + name;
  if (samples.spec().inverse_actions.empty()) {
    return "StepBack does not change the goal, so there is no other state: " + name;
  }
  return "no action changes the goal, so there is no other state: " + name;
}

std::string CheckInputs(const SampledStates& samples) {
  return samples.FirstOfStates([&](State state) -> std::string {
    const StateBytes input = samples.InputOf(state);
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
    const StateBytes input = samples.InputOf(state);
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
    StateBytes again(samples.row_size(), 0xEE);
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
  StateBytes state(samples.row_size());
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
    const StateBytes reached = samples.After(state, action);
    StateBytes before(state.begin(), state.end());
    StateBytes after = reached;
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
};

constexpr auto kPromises = std::to_array<Promise>({
    {"action names are different words", CheckNames},
    {"WriteGoals and DrawGoals write goals", CheckGoals},
    {"methods are deterministic", CheckDeterminism},
    {"a batch gives the same results as single rows", CheckBatches},
    {"Expand gives the same children as Apply", CheckExpand},
    {"nothing is written outside the rows", CheckMargins},
    {"Mask says which actions change a state", CheckMasks},
    {"inverse actions undo their actions", CheckInverses},
    {"the action that StepBack returns leads back", CheckStepsBack},
    {"actions lead from the states of Predecessors, and only from them", CheckPredecessors},
    {"AllGoals has all goals of a problem", CheckAllGoals},
    {"MoveGoals changes only the goal", CheckMovedGoals},
    {"scrambles can be undone", CheckScrambles},
    {"scrambles leave the goal", CheckLeaving},
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
  const auto check = [&](const char* promise, const auto& run) {
    checks.push_back({.promise = promise, .broken = ResultOf(run)});
  };
  std::optional<SampledStates> samples;
  check("random walks can be taken", [&] {
    samples.emplace(domain, options.states);
    return "";
  });
  if (!samples) return checks;
  for (const Promise& promise : kPromises) {
    check(promise.text, [&] { return promise.check(*samples); });
  }
  check("several threads may call it at once",
        [&] { return CheckThreads(*samples, options.workers); });
  return checks;
}

DomainRates MeasureDomain(const Domain& domain, double seconds) {
  constexpr std::size_t kStates = 256;
  const SampledStates samples(domain, kStates);
  const std::size_t num_actions = samples.num_actions();
  StateBytes states(samples.states().bytes().begin(), samples.states().bytes().end());
  StateBytes children(states.size() * num_actions);
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
