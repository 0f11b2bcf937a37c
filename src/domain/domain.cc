#include "tandem/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

void Check(const DomainSpec& spec) {
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("domain '{}': {}", spec.name, what));
  };
  if (spec.state_size <= 0) fail("state_size must be at least 1");
  if (spec.input.positions <= 0) fail("input.positions must be at least 1");
  if (spec.input.depth <= 0 || spec.input.depth > 256) fail("input.depth must be 1 to 256");
  if (spec.action_names.empty()) fail("it has no actions");
  if (spec.inverse_actions.size() != spec.action_names.size()) {
    fail(fmt::format("{} inverse_actions for {} actions", spec.inverse_actions.size(),
                     spec.action_names.size()));
  }
  for (const Action inverse : spec.inverse_actions) {
    if (inverse >= spec.num_actions()) fail(fmt::format("inverse action {} is none", inverse));
  }
}

}  // namespace

Domain::Domain(DomainSpec spec) : spec_(std::move(spec)) { Check(spec_); }

void Domain::Expand(ConstRows states, Rows children) const {
  const auto num_actions = static_cast<std::size_t>(spec_.num_actions());
  std::vector<Action> actions(num_actions);
  for (std::size_t a = 0; a < num_actions; ++a) actions[a] = static_cast<Action>(a);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Rows of_state = children.Slice(i * num_actions, num_actions);
    for (std::size_t a = 0; a < num_actions; ++a) {
      std::ranges::copy(states[i], of_state[a].begin());
    }
    Apply(of_state, actions);
  }
}

void Domain::Mask(ConstRows /*states*/, std::span<std::uint8_t> applies) const {
  std::ranges::fill(applies, std::uint8_t{1});
}

void Domain::Encode(ConstRows states, Rows inputs) const {
  std::ranges::copy(states.bytes(), inputs.data());
}

std::string Domain::Draw(std::span<const std::uint8_t> state, bool /*colour*/) const {
  return FormatState(state) + "\n";
}

std::string FormatActions(const DomainSpec& spec, std::span<const Action> actions) {
  std::string text;
  for (const Action action : actions) {
    if (!text.empty()) text += ' ';
    text += spec.action_names[action];
  }
  return text;
}

std::vector<Action> ParseActions(const DomainSpec& spec, std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<Action> actions;
  for (std::size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    const std::string_view name = text.substr(at, end - at);
    const auto found = std::ranges::find(spec.action_names, name);
    if (found == spec.action_names.end()) {
      throw InputError(fmt::format("move {} is '{}', expected one of {}", actions.size() + 1, name,
                                   fmt::join(spec.action_names, " ")));
    }
    actions.push_back(static_cast<Action>(found - spec.action_names.begin()));
    at = text.find_first_not_of(kSpace, end);
  }
  return actions;
}

}  // namespace tandem
