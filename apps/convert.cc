// tandem convert [STATE] --from FORMAT --to FORMAT
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/json.h"
#include "domains/cube/notations.h"
#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

using cube::Notation;
using nlohmann::ordered_json;

struct ConvertArgs {
  std::string state;
  std::string states;             // file of states, instead of `state`
  std::string from = "facelets";  // facelets, deepcubea or deepxube
  std::string to = "facelets";
  std::string out;  // "": standard output
};

using Conversion = std::function<std::string(std::string_view)>;  // of the text of a state

Notation ParseNotation(const std::string& name) {
  if (name == "deepcubea") return Notation::kDeepCubeA;
  return name == "deepxube" ? Notation::kDeepXube : Notation::kFacelets;
}

// Returns the `state` of a JSON object as text. It may be a string, or an array of numbers as
// Python writes it.
std::string StateOf(const ordered_json& object) {
  if (object.contains("state")) {
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
std::string ConvertLine(std::string_view line, const Conversion& convert) {
  if (line.front() != '{') return convert(line);
  auto object = ParseJsonObject<ordered_json>(line);
  object["state"] = convert(StateOf(object));
  return DumpJson(object);
}

std::string ConvertFile(const std::string& path, const Conversion& convert) {
  std::istringstream in(WithoutByteOrderMark(ReadInput(path)));
  std::string converted;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string_view text = Trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    try {
      converted += ConvertLine(text, convert) + "\n";
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

int RunConvert(const ConvertArgs& args) {
  if (args.state.empty() == args.states.empty()) {
    throw InputError(fmt::format("convert: expected a state or --states FILE, found {}",
                                 args.state.empty() ? "neither" : "both"));
  }
  CheckOutputs({{"--out", args.out}}, {{"the file of the states", args.states}});
  const Conversion convert = [from = ParseNotation(args.from), to = ParseNotation(args.to)](
                                 std::string_view state) { return cube::Rewrite(state, from, to); };
  WriteOutput(args.out,
              args.states.empty() ? convert(args.state) + "\n" : ConvertFile(args.states, convert));
  return kDone;
}

}  // namespace

void AddConvert(CommandLine& line) {
  const CLI::IsMember formats({"facelets", "deepcubea", "deepxube"});
  const auto [convert, args] =
      AddCommand(line, "convert",
                 "Convert states of cube3 from and to the formats of other programs", RunConvert);
  AddOption(convert, "state", args.state, "STATE", "State to convert");
  AddOption(convert, "--states", args.states, "FILE",
            "Convert a file instead: one state per line, or JSON lines");
  for (const auto& [name, value] : {std::pair{"--from", &args.from}, {"--to", &args.to}}) {
    AddOption(convert, name, *value, "FORMAT", "facelets, deepcubea or deepxube")
        ->check(formats)
        ->capture_default_str();
  }
  AddOption(convert, "--out", args.out, "FILE", "Write to FILE (default: standard output)");
  convert.footer(
      "facelets is Tandem's own format, 54 letters. deepcubea is the numbers of 54 stickers, 0 to\n"
      "53. deepxube is 54 colours, 0 to 5. The last two number the faces U D L R B F, and the\n"
      "stickers of each face column by column from the bottom.\n\n"
      "  tandem convert --to deepcubea UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB\n"
      "  tandem convert --from deepxube --states theirs.jsonl --out ours.jsonl");
}

}  // namespace tandem
