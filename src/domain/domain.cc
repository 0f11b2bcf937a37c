#include "tandem/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

constexpr int kMostBytes = 1'000'000;      // of a state or an input; larger ones are mistakes
constexpr std::size_t kShownLetters = 40;  // how much of an unknown move an error message shows

void Check(const DomainSpec& spec) {
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("domain '{}': {}", spec.name, what));
  };
  const auto check_size = [&](int size, const char* what) {
    if (size >= 1 && size <= kMostBytes) return;
    fail(fmt::format("{} is {}, expected 1 to {}", what, size, kMostBytes));
  };
  check_size(spec.state_size, "state_size");
  check_size(spec.input.positions, "input.positions");
  if (spec.input.depth <= 0 || spec.input.depth > 256) fail("input.depth must be 1 to 256");
  if (const auto& board = spec.board) {
    if (board->rows <= 0 || board->columns <= 0 ||
        std::int64_t{board->rows} * board->columns != spec.input.positions) {
      fail(fmt::format("board of {} x {} cells, expected as many cells as input.positions, {}",
                       board->rows, board->columns, spec.input.positions));
    }
  }
  if (spec.action_names.empty()) fail("it has no actions");
  constexpr std::size_t kMaxActions = std::size_t{std::numeric_limits<Action>::max()} + 1;
  if (spec.action_names.size() > kMaxActions) {
    fail(fmt::format("{} actions, expected at most {}", spec.action_names.size(), kMaxActions));
  }
  const auto check_count = [&](std::size_t found, const char* what) {
    if (found == 0 || found == spec.action_names.size()) return;
    fail(fmt::format("{} {}, expected one for each of {} actions", found, what,
                     spec.action_names.size()));
  };
  check_count(spec.inverse_actions.size(), "inverse_actions");
  check_count(spec.action_costs.size(), "action_costs");
  for (const Action inverse : spec.inverse_actions) {
    if (inverse >= spec.num_actions()) {
      fail(fmt::format("inverse action {} does not exist, expected 0 to {}", inverse,
                       spec.num_actions() - 1));
    }
  }
  for (std::size_t a = 0; a < spec.action_costs.size(); ++a) {
    const float cost = spec.action_costs[a];
    if (cost >= kLeastActionCost && cost <= kMostActionCost) continue;
    fail(fmt::format("action {} costs {}, expected {:.6f} to {:.0f}", spec.action_names[a], cost,
                     kLeastActionCost, kMostActionCost));
  }
}

DomainSpec Checked(DomainSpec spec) {
  Check(spec);
  if (spec.action_costs.empty()) spec.action_costs.assign(spec.action_names.size(), 1.0F);
  return spec;
}

// Draws each word of the text as a cell. Each line of text is a row.
Picture WordsOf(const std::string& text) {
  Picture picture;
  float y = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); ++y) {
    float x = 0;
    for (const std::string_view word : Words(line)) {
      const float width = static_cast<float>(word.size() + 1) / 2;
      picture.cells.push_back({.x = x, .y = y, .text = std::string(word), .width = width});
      x += width;
    }
  }
  return picture;
}

}  // namespace

Domain::Domain(DomainSpec spec) : spec_(Checked(std::move(spec))) {}

void Domain::DrawGoals(Rows states, std::span<const std::uint64_t> /*seeds*/) const {
  WriteGoals(states);
}

void Domain::AllGoals(std::span<const std::uint8_t> goal, std::vector<std::uint8_t>& goals) const {
  goals.insert(goals.end(), goal.begin(), goal.end());
}

void Domain::StepBack(Rows /*states*/, std::span<const std::uint64_t> /*randoms*/,
                      std::span<std::optional<Action>> /*actions*/) const {
  throw Error(fmt::format("domain '{}': it has no inverse_actions, so it must override StepBack",
                          spec_.name));
}

bool Domain::Predecessors(ConstRows states, std::vector<std::uint8_t>& predecessors) const {
  const std::vector<Action>& inverses = spec_.inverse_actions;
  std::vector<std::uint8_t> memory(states.size() * inverses.size() * states.row_size());
  const Rows before(memory.data(), states.size() * inverses.size(), states.row_size());
  ApplyToCopies(states, inverses, before);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (std::ranges::equal(before[i], states[i / inverses.size()])) continue;
    predecessors.insert(predecessors.end(), before[i].begin(), before[i].end());
  }
  return !inverses.empty();
}

void Domain::MoveGoals(Rows /*states*/, std::span<const std::uint8_t> /*reached*/) const {
  throw Error(
      fmt::format("domain '{}': spec().moves_goals is {}, and it does not override MoveGoals",
                  spec_.name, spec_.moves_goals));
}

void Domain::Expand(ConstRows states, Rows children) const {
  std::vector<Action> actions(static_cast<std::size_t>(spec_.num_actions()));
  std::iota(actions.begin(), actions.end(), Action{0});
  ApplyToCopies(states, actions, children);
}

// Writes the results of each of `actions` in each state, in the order of the states, by calls of
// Apply with many rows whose memory fits in a cache.
void Domain::ApplyToCopies(ConstRows states, std::span<const Action> actions, Rows results) const {
  if (states.empty() || actions.empty()) return;
  constexpr std::size_t kRowsAtOnce = 1024;
  const std::size_t most =
      std::min((kRowsAtOnce + actions.size() - 1) / actions.size(), states.size());
  std::vector<Action> repeated;
  for (std::size_t i = 0; i < most; ++i) {
    repeated.insert(repeated.end(), actions.begin(), actions.end());
  }
  for (std::size_t first = 0; first < states.size(); first += most) {
    const std::size_t count = std::min(most, states.size() - first);
    const Rows part = results.Slice(first * actions.size(), count * actions.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      std::ranges::copy(states[first + i / actions.size()], part[i].begin());
    }
    Apply(part, std::span(repeated).first(part.size()));
  }
}

void Domain::Mask(ConstRows /*states*/, std::span<std::uint8_t> applies) const {
  std::ranges::fill(applies, std::uint8_t{1});
}

void Domain::Encode(ConstRows states, Rows inputs) const {
  if (spec_.input.positions != spec_.state_size) {
    throw Error(fmt::format(
        "domain '{}': input.positions is {} and state_size is {}, so it must override Encode",
        spec_.name, spec_.input.positions, spec_.state_size));
  }
  std::ranges::copy(states.bytes(), inputs.data());
}

Picture Domain::Draw(std::span<const std::uint8_t> state) const {
  return WordsOf(FormatState(state));
}

std::vector<Action> Domain::ParseMoves(std::string_view moves, std::string_view /*start*/) const {
  return ParseActions(spec_, moves);
}

std::string Domain::FormatMoves(std::span<const Action> actions, std::string_view /*start*/) const {
  return FormatActions(spec_, actions);
}

std::string Domain::Reading(std::string_view /*text*/) const { return ""; }

bool Domain::IsStateLine(std::string_view line) const { return !line.starts_with(';'); }

std::string FormatActions(const DomainSpec& spec, std::span<const Action> actions) {
  std::string text;
  for (const Action action : actions) {
    if (!text.empty()) text += ' ';
    text += spec.action_names[action];
  }
  return text;
}

std::vector<Action> ParseActions(const DomainSpec& spec, std::string_view text) {
  std::vector<Action> actions;
  for (const std::string_view name : Words(text)) {
    const auto found = std::ranges::find(spec.action_names, name);
    if (found == spec.action_names.end()) {
      throw InputError(fmt::format("move {} is '{}{}', expected one of {}", actions.size() + 1,
                                   name.substr(0, kShownLetters),
                                   name.size() > kShownLetters ? "..." : "",
                                   ShortList(spec.action_names, " ")));
    }
    actions.push_back(static_cast<Action>(found - spec.action_names.begin()));
  }
  return actions;
}

bool IsGoal(const Domain& domain, std::span<const std::uint8_t> state) {
  std::uint8_t is_goal = 0;
  domain.IsGoal(ConstRows(state), {&is_goal, 1});
  return is_goal != 0;
}

}  // namespace tandem
