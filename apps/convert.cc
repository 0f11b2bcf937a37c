// tandem convert [STATE] --from FORMAT --to FORMAT
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "apps/commands.h"
#include "apps/output_file.h"
#include "base/json.h"
#include "domains/cube/notations.h"
#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

using cube::Notation;
using nlohmann::ordered_json;

struct Change {
  Notation from, to;

  std::string operator()(std::string_view state) const { return cube::Rewrite(state, from, to); }
};

Notation ParseNotation(const std::string& name) {
  if (name == "deepcubea") return Notation::kDeepCubeA;
  return name == "deepxube" ? Notation::kDeepXube : Notation::kFacelets;
}

// Returns the `state` of a JSON object as text. It may be a string, or an array of numbers as
// Python writes it.
std::string StateOf(const ordered_json& object) {
  if (object.is_object() && object.contains("state")) {
    const ordered_json& state = object["state"];
    if (state.is_string()) return state;
    if (state.is_array()) {
      std::vector<std::string> words;
      for (const ordered_json& each : state) words.push_back(DumpJson(each));
      return fmt::format("{}", fmt::join(words, " "));
    }
  }
  throw InputError("expected a JSON object with `state`, which is a string or an array of numbers");
}

// Converts the state of a line. Other entries of a JSON object stay as they are.
std::string ConvertLine(std::string_view line, const Change& change) {
  if (line.front() != '{') return change(line);
  auto object = ParseJsonOrDiscard<ordered_json>(line);
  object["state"] = change(StateOf(object));
  return DumpJson(object);
}

std::string ConvertFile(const std::string& path, const Change& change) {
  std::istringstream in(ReadText(path));
  std::string converted;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string_view text = Trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    try {
      converted += ConvertLine(text, change) + "\n";
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}:{}: {}", path, number, error.what()));
    }
  }
  if (converted.empty()) {
    throw InputError(fmt::format(
        "{}: no state found; expected one state per line, or JSON lines with `state`", path));
  }
  return converted;
}

}  // namespace

int RunConvert(const ConvertArgs& args) {
  if (args.state.empty() == args.states.empty()) {
    throw InputError(fmt::format("convert: expected a state or --states FILE, found {}",
                                 args.state.empty() ? "neither" : "both"));
  }
  const Change change{.from = ParseNotation(args.from), .to = ParseNotation(args.to)};
  const std::string converted =
      args.states.empty() ? change(args.state) + "\n" : ConvertFile(args.states, change);
  if (args.out.empty()) {
    fmt::print("{}", converted);
  } else {
    WriteOutput(args.out, converted);
  }
  return kDone;
}

}  // namespace tandem
