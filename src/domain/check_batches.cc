#include "domain/check_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <thread>
#include <tuple>

namespace tandem {
namespace {

using State = std::span<const std::uint8_t>;

// The results of every batch method for all samples.
struct Outcome {
  StateBytes applied, children, inputs;
  std::vector<std::uint8_t> applies, is_goal;
  bool margins_untouched = true;
};

Action ActionFor(const Samples& samples, std::size_t i) {
  return static_cast<Action>(i % samples.num_actions());
}

StateBytes BytesOf(GuardedRows& guarded) {
  return {guarded.rows().bytes().begin(), guarded.rows().bytes().end()};
}

Outcome RunAll(const Samples& samples) {
  const Domain& domain = samples.domain();
  const std::size_t count = samples.size();
  const std::size_t actions = samples.num_actions();
  std::vector<Action> chosen(count);
  for (std::size_t i = 0; i < count; ++i) chosen[i] = ActionFor(samples, i);
  GuardedRows applied(count, samples.row_size());
  GuardedRows children(count * actions, samples.row_size());
  GuardedRows inputs(count, static_cast<std::size_t>(samples.spec().input.positions));
  GuardedRows applies(count, actions);
  GuardedRows is_goal(count, 1);
  std::ranges::copy(samples.states().bytes(), applied.rows().data());
  domain.Apply(applied.rows(), chosen);
  domain.Expand(samples.states(), children.rows());
  domain.Encode(samples.states(), inputs.rows());
  domain.Mask(samples.states(), applies.rows().bytes());
  domain.IsGoal(samples.states(), is_goal.rows().bytes());
  return {.applied = BytesOf(applied),
          .children = BytesOf(children),
          .inputs = BytesOf(inputs),
          .applies = BytesOf(applies),
          .is_goal = BytesOf(is_goal),
          .margins_untouched = applied.margins_are_untouched() &&
                               children.margins_are_untouched() && inputs.margins_are_untouched() &&
                               applies.margins_are_untouched() && is_goal.margins_are_untouched()};
}

// Describes the first row in which two results of `method` differ; "" if they are equal.
std::string Difference(const Samples& samples, const char* method, const StateBytes& a,
                       const StateBytes& b, const char* complaint) {
  const auto [at, other] = std::ranges::mismatch(a, b);
  if (at == a.end()) return "";
  const std::size_t per_state = a.size() / samples.size();
  const auto row = static_cast<std::size_t>(at - a.begin()) / per_state;
  const State state = samples.states()[row];
  const bool of_actions = std::string_view(method) == "Apply";
  return fmt::format(
      "{} of {} {}", method,
      of_actions ? samples.Describe(state, ActionFor(samples, row)) : samples.Describe(state),
      complaint);
}

std::string AnyDifference(const Samples& samples, const Outcome& a, const Outcome& b,
                          const char* complaint) {
  for (const auto& [method, first, second] : {std::tuple{"Apply", &a.applied, &b.applied},
                                              {"Expand", &a.children, &b.children},
                                              {"Encode", &a.inputs, &b.inputs},
                                              {"Mask", &a.applies, &b.applies},
                                              {"IsGoal", &a.is_goal, &b.is_goal}}) {
    std::string found = Difference(samples, method, *first, *second, complaint);
    if (!found.empty()) return found;
  }
  return "";
}

StateBytes InputOf(const Samples& samples, State state) {
  StateBytes input(static_cast<std::size_t>(samples.spec().input.positions), 0xEE);
  samples.domain().Encode(ConstRows(state), Rows(std::span(input)));
  return input;
}

}  // namespace

std::string CheckDeterminism(const Samples& samples) {
  return AnyDifference(samples, RunAll(samples), RunAll(samples), "differs from call to call");
}

std::string CheckBatches(const Samples& samples) {
  const Outcome batch = RunAll(samples);
  Outcome single;
  const auto append = [](StateBytes& to, const StateBytes& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const State state = samples.states()[i];
    append(single.applied, samples.After(state, ActionFor(samples, i)));
    append(single.inputs, InputOf(samples, state));
    append(single.applies, samples.MaskOf(state));
    single.is_goal.push_back(samples.IsGoal(state) ? 1 : 0);
  }
  single.children = batch.children;  // CheckExpand checks these
  return AnyDifference(samples, batch, single, "differs between a batch and a single row");
}

std::string CheckExpand(const Samples& samples) {
  const std::size_t actions = samples.num_actions();
  const Outcome batch = RunAll(samples);
  const ConstRows children(batch.children.data(), samples.size() * actions, samples.row_size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const State state = samples.states()[i / actions];
    const auto action = static_cast<Action>(i % actions);
    const StateBytes applied = samples.After(state, action);
    if (std::ranges::equal(applied, children[i])) continue;
    return fmt::format("{}: Expand gives {}, Apply gives {}", samples.Describe(state, action),
                       samples.Describe(children[i]), samples.Describe(applied));
  }
  return "";
}

std::string CheckMargins(const Samples& samples) {
  return RunAll(samples).margins_untouched
             ? ""
             : "a method writes before the first row or after the last row of a batch";
}

std::string CheckInputs(const Samples& samples) {
  return samples.FirstOfStates([&](State state) -> std::string {
    const StateBytes input = InputOf(samples, state);
    const int depth = samples.spec().input.depth;
    const auto beyond =
        std::ranges::find_if(input, [&](std::uint8_t value) { return value >= depth; });
    if (beyond == input.end()) return "";
    return fmt::format("{}: position {} of its input is {}, expected below {}",
                       samples.Describe(state), beyond - input.begin(), *beyond, depth);
  });
}

std::string CheckInjectivity(const Samples& samples) {
  std::map<std::string, State> seen;
  return samples.FirstOfStates([&](State state) -> std::string {
    const StateBytes input = InputOf(samples, state);
    const auto [at, is_new] = seen.emplace(std::string(input.begin(), input.end()), state);
    if (is_new || std::ranges::equal(at->second, state)) return "";
    return fmt::format("{} and {} have the same input", samples.Describe(at->second),
                       samples.Describe(state));
  });
}

std::string CheckThreads(const Samples& samples, int workers) {
  const Outcome alone = RunAll(samples);
  std::vector<std::string> found(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (std::string& each : found) {
    threads.emplace_back([&] {
      constexpr int kRepeats = 5;
      try {
        for (int i = 0; i < kRepeats && each.empty(); ++i) {
          each = AnyDifference(samples, alone, RunAll(samples),
                               "differs if several threads call at once");
        }
      } catch (const std::exception& error) {
        each = fmt::format("exception: {}", error.what());
      } catch (...) {
        each = kUnknownException;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto first = std::ranges::find_if(found, [](const auto& text) { return !text.empty(); });
  return first == found.end() ? "" : *first;
}

}  // namespace tandem
