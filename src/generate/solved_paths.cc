#include "generate/solved_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

using nlohmann::json;

constexpr double kMostWeight = 1e6;  // far from where sums of weights overflow

// The value as a message shows it.
std::string Shortened(const json& value) {
  constexpr std::size_t kMost = 60;
  const std::string text =
      value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::vector<Action> ReadMoves(const json& moves, const DomainSpec& spec) {
  if (moves.is_string()) return ParseActions(spec, moves.get<std::string>());
  std::string text;
  bool are_texts = moves.is_array();
  for (const json& move : moves) {
    are_texts = are_texts && move.is_string();
    if (are_texts) text += move.get<std::string>() + " ";
  }
  if (!are_texts) {
    throw InputError(fmt::format(
        "expected `moves`, the names of actions, as one text or as a list of texts, found {}",
        Shortened(moves)));
  }
  return ParseActions(spec, text);
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
std::optional<SolvedPath> ReadPath(std::string_view text, const Domain& domain) {
  const json object = ParseJsonObject(text);
  if (!object.contains("moves")) {
    throw InputError("expected `moves`, as `tandem solve --out` writes them");
  }
  if (object["moves"].is_null()) return std::nullopt;
  if (!object.contains("state") || !object["state"].is_string()) {
    throw InputError("expected `state`, a string");
  }
  SolvedPath path;
  path.start.resize(static_cast<std::size_t>(domain.spec().state_size));
  domain.ParseState(object["state"].get<std::string>(), path.start);
  path.actions = ReadMoves(object["moves"], domain.spec());
  if (object.contains("weight")) {
    const json& weight = object["weight"];
    if (weight.is_number()) path.weight = weight.get<double>();
    if (!weight.is_number() || !(path.weight > 0) || path.weight > kMostWeight) {
      throw InputError(
          fmt::format("expected `weight` to be a number above 0 and at most {:.0f}, found {}",
                      kMostWeight, Shortened(weight)));
    }
  }
  CheckPath(path, domain);
  return path;
}

}  // namespace

std::vector<SolvedPath> ReadSolvedPaths(const std::filesystem::path& file, const Domain& domain) {
  std::istringstream in(WithoutByteOrderMark(ReadFile(file)));
  std::vector<SolvedPath> paths;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string_view text = Trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    try {
      if (std::optional<SolvedPath> path = ReadPath(text, domain)) {
        paths.push_back(std::move(*path));
      }
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}:{}: {}", file.string(), number, error.what()));
    }
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
