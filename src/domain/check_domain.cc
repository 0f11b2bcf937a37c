#include "tandem/check_domain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <set>

#include "base/random.h"
#include "domain/check_batches.h"
#include "domain/check_walks.h"
#include "domain/samples.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using State = std::span<const std::uint8_t>;

std::string CheckNames(const Samples& samples) {
  std::set<std::string> names;
  for (const std::string& name : samples.spec().action_names) {
    if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos) {
      return fmt::format("action name '{}': expected a word without white space", name);
    }
    if (!names.insert(name).second) return fmt::format("two actions are named {}", name);
  }
  return "";
}

std::string CheckGoals(const Samples& samples) {
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
      return "IsGoal rejects a goal that WriteGoals wrote: " + samples.Describe(same_rows[i]);
    }
    if (!samples.IsGoal(drawn_rows[i])) {
      return "IsGoal rejects a goal that DrawGoals wrote: " + samples.Describe(drawn_rows[i]);
    }
    if (!std::ranges::equal(same_rows[i], same_rows[0])) {
      return "WriteGoals writes different goals: " + samples.Describe(same_rows[i]);
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

std::string CheckMasks(const Samples& samples) {
  return samples.FirstOfStates([&](State state) -> std::string {
    const std::vector<std::uint8_t> applies = samples.MaskOf(state);
    for (std::size_t a = 0; a < applies.size(); ++a) {
      const auto action = static_cast<Action>(a);
      const bool changes = !std::ranges::equal(samples.After(state, action), state);
      const std::string told = samples.Describe(state, action);
      if (applies[a] > 1) return fmt::format("{}: Mask says {}, expected 0 or 1", told, applies[a]);
      if (applies[a] == 0 && !samples.spec().masks_actions) {
        return told + ": Mask says that it does not apply, yet masks_actions is false";
      }
      if (applies[a] == 0 && changes) {
        return told + ": Mask says that it does not apply, yet Apply changes the state";
      }
      if (applies[a] == 1 && !changes && samples.spec().masks_actions) {
        return told + ": Mask says that it applies, yet Apply leaves the state unchanged";
      }
    }
    return "";
  });
}

std::string CheckInverses(const Samples& samples) {
  if (samples.spec().inverse_actions.empty()) return "";  // CheckStepsBack checks such puzzles
  return samples.FirstOfActions([&](State state, Action action) -> std::string {
    if (samples.MaskOf(state)[action] == 0) return "";
    const Action inverse = samples.spec().inverse_actions[action];
    const std::string& name = samples.spec().action_names[inverse];
    const StateBytes child = samples.After(state, action);
    if (samples.MaskOf(child)[inverse] == 0) {
      return fmt::format("{}: its inverse {} does not apply after it",
                         samples.Describe(state, action), name);
    }
    const StateBytes back = samples.After(child, inverse);
    if (std::ranges::equal(back, state)) return "";
    return fmt::format("{}: {} does not undo it, but leads to {}", samples.Describe(state, action),
                       name, samples.Describe(back));
  });
}

std::string CheckNotation(const Samples& samples) {
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
      return samples.Describe(state) +
             ": its text has several lines, yet multiline_states is false";
    }
    StateBytes again(samples.row_size(), 0xEE);
    try {
      domain.ParseState(text, again);
    } catch (const InputError& error) {
      return fmt::format("{}: ParseState rejects its text: {}", samples.Describe(state),
                         error.what());
    }
    if (std::ranges::equal(again, state)) return "";
    return fmt::format("{}: its bytes are {}, but its text is parsed as {}",
                       samples.Describe(state), fmt::join(state, " "), fmt::join(again, " "));
  });
}

std::string CheckRefusals(const Samples& samples) {
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

std::string CheckPicture(const Samples& samples) {
  return samples.FirstOfStates([&](State state) -> std::string {
    if (!samples.domain().Draw(state).cells.empty()) return "";
    return samples.Describe(state) + ": the picture has no cells";
  });
}

struct Promise {
  const char* text;
  std::string (*check)(const Samples& samples);
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
    {"scrambles can be undone", CheckScrambles},
    {"scrambles leave the goal", CheckLeaving},
    {"network inputs are below input.depth", CheckInputs},
    {"different states have different inputs", CheckInjectivity},
    {"states and actions survive the round trip through text", CheckNotation},
    {"text that is not a state is rejected with InputError", CheckRefusals},
    {"every state has a picture", CheckPicture},
});

template <class Check>
DomainCheck Try(const char* promise, const Check& check) {
  try {
    return {.promise = promise, .broken = check()};
  } catch (const std::exception& error) {
    return {.promise = promise, .broken = fmt::format("exception: {}", error.what())};
  } catch (...) {
    return {.promise = promise, .broken = kUnknownException};
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
  std::optional<Samples> samples;
  checks.push_back(Try("random walks can be taken", [&]() -> std::string {
    samples.emplace(domain, options.states);
    return "";
  }));
  if (!samples) return checks;
  for (const Promise& promise : kPromises) {
    checks.push_back(Try(promise.text, [&] { return promise.check(*samples); }));
  }
  checks.push_back(Try("several threads may call it at once",
                       [&] { return CheckThreads(*samples, options.workers); }));
  return checks;
}

DomainRates MeasureDomain(const Domain& domain, double seconds) {
  constexpr std::size_t kStates = 256;
  const Samples samples(domain, kStates);
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
