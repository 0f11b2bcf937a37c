#include "apps/torch/deepxube_puzzle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domains/cube/notations.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::vector<std::int64_t> Identity(std::size_t size) {
  std::vector<std::int64_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::size_t Features(const DomainSpec& spec) {
  return static_cast<std::size_t>(spec.input.positions) *
         static_cast<std::size_t>(spec.input.depth);
}

// Their actions are U' U D' D L' L R' R B' B F' F.
std::vector<std::int64_t> CubeActions(const DomainSpec& spec) {
  std::vector<std::int64_t> actions;
  for (const char face : std::string_view("UDLRBF")) {
    for (const char* back : {"'", ""}) {
      const auto found = std::ranges::find(spec.action_names, std::string(1, face) + back);
      actions.push_back(found - spec.action_names.begin());
    }
  }
  return actions;
}

DeepXubePuzzle Cube3(const DomainSpec& spec) {
  const auto colours = static_cast<std::size_t>(spec.input.depth);
  DeepXubePuzzle puzzle{
      .domain = "cube3", .features = Identity(Features(spec)), .actions = CubeActions(spec)};
  for (std::size_t i = 0; i < puzzle.features.size(); ++i) {
    const std::size_t theirs =
        colours * cube::TheirPosition(i / colours) + cube::TheirColour(i % colours);
    puzzle.features[theirs] = static_cast<std::int64_t>(i);
  }
  return puzzle;
}

// Why DeepXube has no counterpart of a puzzle, by the beginning of its name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kReasons = {{
    {"cube3:",
     "DeepXube's networks read the colours of the stickers, and pieces and pairs of pieces are no "
     "weighted sums of colours. Train with domain.input: stickers."},
    {"cube3_htm", "DeepXube's cube has quarter turns only."},
    {"grid:", "DeepXube's grid has four moves and no walls."},
    {"sokoban:",
     "DeepXube's networks read walls, boxes, player and goals as numbers of their own, and "
     "Tandem's read combinations such as a player on a goal."},
}};

std::string ReasonFor(const std::string& name) {
  for (const auto& [start, reason] : kReasons) {
    if (name.starts_with(start)) return std::string(reason);
  }
  return "DeepXube has no such puzzle.";
}

}  // namespace

DeepXubePuzzle DeepXubePuzzleFor(const DomainSpec& spec) {
  const std::string& name = spec.name;
  const std::string argument = name.substr(std::min(name.find(':'), name.size() - 1) + 1);
  const auto actions = Identity(static_cast<std::size_t>(spec.num_actions()));
  if (name == "cube3") return Cube3(spec);
  if (name.starts_with("npuzzle:")) {
    return {.domain = "npuzzle." + argument,
            .features = Identity(Features(spec)),
            .actions = actions,
            .takes_q = false};
  }
  if (name.starts_with("lights_out:")) {
    return {.domain = "lightsout." + argument, .features = {}, .actions = actions};
  }
  throw InputError(fmt::format("the weights for {} cannot be exchanged with DeepXube: {}", name,
                               ReasonFor(name)));
}

}  // namespace tandem
