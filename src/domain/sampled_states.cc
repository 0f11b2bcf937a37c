#include "domain/sampled_states.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

}  // namespace tandem
