#include "domain/samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/random.h"
#include "domain/random_walk.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::uint64_t kSeed = 7;

}  // namespace

GuardedRows::GuardedRows(std::size_t count, std::size_t row_size)
    : count_(count), row_size_(row_size), bytes_(count * row_size + 2 * kMargin, kMark) {}

bool GuardedRows::margins_are_untouched() const {
  const auto untouched = [](std::uint8_t byte) { return byte == kMark; };
  const auto margin = static_cast<std::ptrdiff_t>(kMargin);
  return std::all_of(bytes_.begin(), bytes_.begin() + margin, untouched) &&
         std::all_of(bytes_.end() - margin, bytes_.end(), untouched);
}

Samples::Samples(const Domain& domain, std::size_t count)
    : domain_(domain),
      size_(count),
      bytes_(count * static_cast<std::size_t>(domain.spec().state_size)) {
  const Rows rows(bytes_.data(), size_, row_size());
  for (std::size_t i = 0; i < size_; ++i) {
    RandomWalk walk(domain_, Random(kSeed, Purpose::kScramble, 0, i), rows[i]);
    for (std::size_t step = 0; step < i; ++step) walk.Step();
  }
}

StateBytes Samples::After(std::span<const std::uint8_t> state, Action action) const {
  StateBytes child(state.begin(), state.end());
  domain_.Apply(Rows(std::span(child)), {&action, 1});
  return child;
}

bool Samples::IsGoal(std::span<const std::uint8_t> state) const {
  std::uint8_t is_goal = 2;
  domain_.IsGoal(ConstRows(state), {&is_goal, 1});
  if (is_goal > 1) {
    throw Error(fmt::format("{}: IsGoal sets the flag to {}, expected 1 for a goal, else 0",
                            Describe(state), is_goal));
  }
  return is_goal != 0;
}

std::vector<std::uint8_t> Samples::MaskOf(std::span<const std::uint8_t> state) const {
  std::vector<std::uint8_t> applies(num_actions(), 2);
  domain_.Mask(ConstRows(state), applies);
  return applies;
}

std::string Samples::Describe(std::span<const std::uint8_t> state) const {
  try {
    const std::string text = domain_.FormatState(state);
    return "state " + (spec().multiline_states ? "\n" + text + "\n" : text);
  } catch (...) {
    return fmt::format("the state of bytes {}", fmt::join(state, " "));
  }
}

std::string Samples::Describe(std::span<const std::uint8_t> state, Action action) const {
  return fmt::format("action {} in {}", spec().action_names[action], Describe(state));
}

std::string Samples::FirstOfActions(
    const std::function<std::string(std::span<const std::uint8_t>, Action)>& find) const {
  return FirstOfStates([&](std::span<const std::uint8_t> state) -> std::string {
    for (std::size_t a = 0; a < num_actions(); ++a) {
      std::string found = find(state, static_cast<Action>(a));
      if (!found.empty()) return found;
    }
    return "";
  });
}

std::string Samples::FirstOfStates(
    const std::function<std::string(std::span<const std::uint8_t>)>& find) const {
  for (std::size_t i = 0; i < size_; ++i) {
    std::string found = find(states()[i]);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace tandem
