#include "domain/sampled_states.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "domain/random_walk.h"
#include "tandem/error.h"

namespace tandem {

SampledStates::SampledStates(const Domain& domain, std::size_t count)
    : domain_(domain), size_(count), bytes_(count * row_size()) {
  constexpr std::uint64_t kSeed = 7;
  const Rows rows(bytes_.data(), size_, row_size());
  for (std::size_t i = 0; i < size_; ++i) {
    const auto steps = static_cast<std::int64_t>(i);
    WalkFromGoal(domain_, Random(kSeed, Purpose::kScramble, 0, i), steps, rows[i]);
  }
}

SampledStates::Bytes SampledStates::After(State state, Action action) const {
  Bytes child(state.begin(), state.end());
  domain_.Apply(Rows(std::span(child)), {&action, 1});
  return child;
}

bool SampledStates::IsGoal(State state) const {
  std::uint8_t is_goal = 2;
  domain_.IsGoal(ConstRows(state), {&is_goal, 1});
  if (is_goal <= 1) return is_goal != 0;
  throw Error(fmt::format("{}: IsGoal sets the flag to {}, expected 1 for a goal, else 0",
                          NameOf(state), is_goal));
}

SampledStates::Bytes SampledStates::MaskOf(State state) const {
  Bytes applies(num_actions(), 2);
  domain_.Mask(ConstRows(state), applies);
  return applies;
}

SampledStates::Bytes SampledStates::InputOf(State state) const {
  Bytes input(static_cast<std::size_t>(spec().input.positions), 0xEE);
  domain_.Encode(ConstRows(state), Rows(std::span(input)));
  return input;
}

std::string SampledStates::NameOf(State state) const {
  try {
    const std::string text = domain_.FormatState(state);
    return "state " + (spec().multiline_states ? "\n" + text + "\n" : text);
  } catch (...) {
    return fmt::format("the state of bytes {}", fmt::join(state, " "));
  }
}

std::string SampledStates::NameOf(State state, Action action) const {
  return fmt::format("action {} in {}", spec().action_names[action], NameOf(state));
}

namespace {

using Bytes = SampledStates::Bytes;
using State = SampledStates::State;

// GuardedRows is memory for rows, with a margin on both sides that detects writes out of bounds.
class GuardedRows {
 public:
  GuardedRows(std::size_t count, std::size_t row_size)
      : count_(count), row_size_(row_size), bytes_(count * row_size + 2 * kMargin, kMark) {}

  Rows rows() { return {bytes_.data() + kMargin, count_, row_size_}; }

  Bytes Contents() { return {rows().bytes().begin(), rows().bytes().end()}; }

  bool margins_are_untouched() const {
    const auto untouched = [](std::uint8_t byte) { return byte == kMark; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kMargin, untouched) &&
           std::all_of(bytes_.end() - kMargin, bytes_.end(), untouched);
  }

 private:
  static constexpr std::ptrdiff_t kMargin = 64;
  static constexpr std::uint8_t kMark = 0xA5;

  std::size_t count_;
  std::size_t row_size_;
  Bytes bytes_;
};

// The action that Apply of the whole batch is tested with in row i.
Action ActionFor(const SampledStates& samples, std::size_t i) {
  return static_cast<Action>(i % samples.num_actions());
}

// The results of every batch method for all samples.
struct Outcome {
  Bytes applied, children, inputs, applies, is_goal;
  std::string_view writes_outside;  // the first method that wrote outside its rows; "" if none did
};

Outcome RunAll(const SampledStates& samples) {
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
  Outcome outcome{.applied = applied.Contents(),
                  .children = children.Contents(),
                  .inputs = inputs.Contents(),
                  .applies = applies.Contents(),
                  .is_goal = is_goal.Contents(),
                  .writes_outside = ""};
  for (const auto& [method, rows] : {std::pair{"Apply", &applied},
                                     {"Expand", &children},
                                     {"Encode", &inputs},
                                     {"Mask", &applies},
                                     {"IsGoal", &is_goal}}) {
    if (!outcome.writes_outside.empty() || rows->margins_are_untouched()) continue;
    outcome.writes_outside = method;
  }
  return outcome;
}

// Says in which row two results of `method` first differ; "" if they are equal.
std::string Difference(const SampledStates& samples, const char* method, const Bytes& a,
                       const Bytes& b, const char* complaint) {
  const auto [at, other] = std::ranges::mismatch(a, b);
  if (at == a.end()) return "";
  const std::size_t per_state = a.size() / samples.size();
  const auto row = static_cast<std::size_t>(at - a.begin()) / per_state;
  const State state = samples.states()[row];
  const bool of_actions = std::string_view(method) == "Apply";
  return fmt::format(
      "{} of {} {}", method,
      of_actions ? samples.NameOf(state, ActionFor(samples, row)) : samples.NameOf(state),
      complaint);
}

std::string AnyDifference(const SampledStates& samples, const Outcome& a, const Outcome& b,
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

}  // namespace

std::string CheckDeterminism(const SampledStates& samples) {
  return AnyDifference(samples, RunAll(samples), RunAll(samples), "differs from call to call");
}

std::string CheckBatches(const SampledStates& samples) {
  const Outcome batch = RunAll(samples);
  Outcome single;
  const auto append = [](Bytes& to, const Bytes& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const State state = samples.states()[i];
    append(single.applied, samples.After(state, ActionFor(samples, i)));
    append(single.inputs, samples.InputOf(state));
    append(single.applies, samples.MaskOf(state));
    single.is_goal.push_back(samples.IsGoal(state) ? 1 : 0);
  }
  single.children = batch.children;  // CheckExpand checks these
  return AnyDifference(samples, batch, single, "differs between a batch and a single row");
}

std::string CheckExpand(const SampledStates& samples) {
  const std::size_t actions = samples.num_actions();
  const Outcome batch = RunAll(samples);
  const ConstRows children(batch.children.data(), samples.size() * actions, samples.row_size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const State state = samples.states()[i / actions];
    const auto action = static_cast<Action>(i % actions);
    const Bytes applied = samples.After(state, action);
    if (std::ranges::equal(applied, children[i])) continue;
    return fmt::format("{}: Expand gives {}, Apply gives {}", samples.NameOf(state, action),
                       samples.NameOf(children[i]), samples.NameOf(applied));
  }
  return "";
}

std::string CheckMargins(const SampledStates& samples) {
  const std::string_view method = RunAll(samples).writes_outside;
  if (method.empty()) return "";
  return fmt::format("{} writes before the first row or after the last row of a batch", method);
}

std::string CheckThreads(const SampledStates& samples, int workers) {
  constexpr int kRepeats = 5;
  const Outcome alone = RunAll(samples);
  const auto compare = [&]() -> std::string {
    std::string found;
    for (int i = 0; i < kRepeats && found.empty(); ++i) {
      found =
          AnyDifference(samples, alone, RunAll(samples), "differs if several threads call at once");
    }
    return found;
  };
  std::vector<std::future<std::string>> results;
  results.reserve(static_cast<std::size_t>(workers));
  for (int i = 0; i < workers; ++i) results.push_back(std::async(std::launch::async, compare));
  for (std::future<std::string>& result : results) {
    std::string found = result.get();
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace tandem
