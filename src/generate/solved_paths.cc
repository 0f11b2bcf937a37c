#include "generate/solved_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/file.h"
#include "search/json_lines.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using nlohmann::json;

constexpr double kMostWeight = 1e6;  // far from where sums of weights overflow

std::vector<Action> ReadMoves(const json& object, const std::string& state, const Domain& domain) {
  const json& moves = object["moves"];
  if (moves.is_string()) return domain.ParseMoves(moves.get<std::string>(), state);
  std::string text;
  bool are_texts = moves.is_array();
  for (const json& move : moves) {
    are_texts = are_texts && move.is_string();
    if (are_texts) text += move.get<std::string>() + " ";
  }
  if (!are_texts) {
    ThrowWrongEntry(object, "moves", "the names of actions, as one text or as a list of texts");
  }
  return domain.ParseMoves(text, state);
}

void CheckPath(const SolvedPath& path, const Domain& domain) {
  std::vector<std::uint8_t> state = path.start;
  for (std::size_t i = 0; i < path.actions.size(); ++i) {
    if (IsGoal(domain, state)) {
      throw InputError(
          fmt::format("the path is at a goal after {} of its {} moves; expected the "
                      "first goal at its end. Remove the later moves.",
                      i, path.actions.size()));
    }
    const std::vector<std::uint8_t> before = state;
    domain.Apply(Rows(std::span(state)), {&path.actions[i], 1});
    if (state == before) {
      throw InputError(fmt::format("move {}, {}, does not apply: it leaves the state unchanged",
                                   i + 1, domain.spec().action_names[path.actions[i]]));
    }
  }
  if (!IsGoal(domain, state)) {
    throw InputError("the moves do not lead from the state to a goal");
  }
}

// Returns nothing if the line is a state without a solution.
std::optional<SolvedPath> ReadPath(const json& object, const Domain& domain) {
  if (!object.contains("moves")) {
    ThrowWrongEntry(object, "moves", "as `tandem solve --out` writes them");
  }
  if (!HasValue(object, "moves")) return std::nullopt;
  SolvedPath path;
  path.start.resize(static_cast<std::size_t>(domain.spec().state_size));
  const auto state = ReadEntry<std::string>(object, "state");
  domain.ParseState(state, path.start);
  path.actions = ReadMoves(object, state, domain);
  path.weight = ReadPositiveNumber<double>(object, "weight", kMostWeight).value_or(1);
  CheckPath(path, domain);
  return path;
}

}  // namespace

std::vector<SolvedPath> ReadSolvedPaths(const std::filesystem::path& file, const Domain& domain) {
  std::vector<SolvedPath> paths;
  JsonLines lines(file.string(), WithoutByteOrderMark(ReadFile(file)));
  while (lines.Next()) {
    std::optional<SolvedPath> path =
        lines.ReadObject([&](const json& object) { return ReadPath(object, domain); });
    if (path) paths.push_back(std::move(*path));
  }
  if (paths.empty()) {
    throw InputError(fmt::format(
        "{}: no solved path found; expected JSON lines with `state` and `moves`, as `tandem solve "
        "--out` writes them",
        file.string()));
  }
  if (std::ranges::all_of(paths, [](const SolvedPath& path) { return path.actions.empty(); })) {
    throw InputError(fmt::format(
        "{}: no path has a move, so there is nothing to learn; expected paths from states that are "
        "not goals",
        file.string()));
  }
  return paths;
}

}  // namespace tandem
