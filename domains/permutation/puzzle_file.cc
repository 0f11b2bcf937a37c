#include "permutation/puzzle_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "permutation/cycles.h"
#include "permutation/place.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kMaxPositions = 256;
constexpr float kMaxCoordinate = 1000;  // greatest coordinate of a layout, in cells
// Far beyond these limits, squares of costs overflow a float, and training ends in NaN.
constexpr float kLeastCost = 1e-6F;
constexpr float kMaxCost = 1e6F;

void ReadGoal(const Place& place, const YAML::Node& node, PuzzleFile& puzzle) {
  const std::vector<YAML::Node> list = place.List(node, "goal");
  if (list.empty() || list.size() > kMaxPositions) {
    place.Fail(node, "goal: " + std::to_string(list.size()) + " positions, expected 1 to 256");
  }
  for (const YAML::Node& each : list) {
    const std::string label =
        place.Word(each, "goal: position " + std::to_string(puzzle.goal.size()));
    const auto at = std::ranges::find(puzzle.labels, label);
    puzzle.goal.push_back(static_cast<std::uint8_t>(at - puzzle.labels.begin()));
    if (at == puzzle.labels.end()) puzzle.labels.push_back(label);
  }
}

// Reads a generator's permutation in either notation. `key` is the key of which `node` is the
// value; a missing value has no line number, so errors use the line of the key.
Permutation ReadPermutation(const Place& place, const std::string& of, const YAML::Node& key,
                            const YAML::Node& node, std::size_t positions) {
  try {
    if (node.IsScalar()) return ParseCycles(node.Scalar(), positions);
    const auto is_scalar = [](const YAML::Node& each) { return each.IsScalar(); };
    if (!node.IsSequence() || !std::all_of(node.begin(), node.end(), is_scalar)) {
      throw std::invalid_argument("expected cycles, a text such as \"(0 1)\", or an array of " +
                                  std::to_string(positions) + " positions");
    }
    std::vector<std::string> numbers;
    for (const YAML::Node& each : node) numbers.push_back(each.Scalar());
    return ParseArray(numbers, positions);
  } catch (const std::invalid_argument& wrong) {
    place.Fail(node.IsNull() ? key : node, of + ": " + wrong.what());
  }
}

struct Generator {
  YAML::Mark mark;
  std::string name;
  Permutation permutation;
  float cost = 1;
  std::string inverse_name;
  YAML::Node named_inverse;  // the node with that name; null if the file does not name an inverse
};

// Reads `NAME: CYCLES`, `NAME: [ARRAY]` or `NAME: {moves: EITHER, cost: 2, inverse: NAME}`.
Generator ReadGenerator(const Place& place, const YAML::Node& key, const YAML::Node& value,
                        std::size_t positions) {
  Generator generator{.mark = key.Mark(),
                      .name = place.Word(key, "a generator's name"),
                      .permutation = {},
                      .inverse_name = "",
                      .named_inverse = {}};
  generator.inverse_name = generator.name + "'";
  const std::string of = "generator " + generator.name;
  if (!value.IsMap()) {
    generator.permutation = ReadPermutation(place, of, key, value, positions);
    return generator;
  }
  constexpr std::array<const char*, 3> kKeys = {"moves", "cost", "inverse"};
  place.CheckKeys(value, kKeys, of);
  if (!value["moves"]) place.Fail(value, of + ": expected `moves`, cycles or an array");
  generator.permutation = ReadPermutation(place, of, key, value["moves"], positions);
  if (value["cost"]) {
    generator.cost = place.Number(value["cost"], of + ": cost", kLeastCost, kMaxCost);
  }
  if (value["inverse"]) {
    generator.named_inverse = value["inverse"];
    generator.inverse_name = place.Word(generator.named_inverse, of + ": inverse");
  }
  return generator;
}

void AddAction(const Place& place, const Generator& generator, const std::string& name,
               const Permutation& permutation, PuzzleFile& puzzle) {
  if (std::ranges::find(puzzle.names, name) != puzzle.names.end()) {
    place.Fail(generator.mark, "two moves are named " + name);
  }
  puzzle.names.push_back(name);
  puzzle.permutations.push_back(permutation);
  puzzle.costs.push_back(generator.cost);
}

// Whether a generator undoes `generator`. If the file names its inverse, only that one counts.
bool IsUndone(const Place& place, const Generator& generator,
              const std::vector<Generator>& generators) {
  const auto undoes =
      std::ranges::find(generators, Inverse(generator.permutation), &Generator::permutation);
  if (undoes == generators.end()) return false;
  if (!generator.named_inverse.IsNull() && generator.inverse_name != undoes->name) {
    place.Fail(generator.named_inverse, "generator " + generator.name + ": inverse is " +
                                            generator.inverse_name + ", but " + undoes->name +
                                            " undoes it");
  }
  return true;
}

[[noreturn]] void FailAsNotUndone(const Place& place, const Generator& generator,
                                  const std::string& why) {
  const YAML::Mark& mark =
      generator.named_inverse.IsNull() ? generator.mark : generator.named_inverse.Mark();
  place.Fail(mark, "generator " + generator.name + why);
}

void ReadGenerators(const Place& place, const YAML::Node& node, bool add_inverses,
                    PuzzleFile& puzzle) {
  if (!node.IsMap() || node.size() == 0) place.Fail(node, "generators: expected names and moves");
  std::vector<Generator> generators;
  for (const auto& entry : node) {
    generators.push_back(ReadGenerator(place, entry.first, entry.second, puzzle.goal.size()));
  }
  for (const Generator& generator : generators) {
    if (std::ranges::is_sorted(generator.permutation)) {
      place.Fail(generator.mark, "generator " + generator.name + " moves nothing");
    }
    AddAction(place, generator, generator.name, generator.permutation, puzzle);
    if (IsUndone(place, generator, generators)) continue;
    const std::string& inverse_name = generator.inverse_name;
    if (std::ranges::find(generators, inverse_name, &Generator::name) != generators.end()) {
      FailAsNotUndone(place, generator,
                      ": " + inverse_name + " does not undo it" +
                          (add_inverses ? "; name its inverse otherwise, by `inverse`"
                                        : ", nor does another generator"));
    }
    if (!add_inverses) {
      FailAsNotUndone(
          place, generator,
          " has no inverse among the generators; `inverses: added` adds " + inverse_name);
    }
    AddAction(place, generator, inverse_name, Inverse(generator.permutation), puzzle);
  }
}

// Whether one cell would hide part of the other. The comparison tolerates rounding errors.
bool Overlap(const std::pair<float, float>& a, const std::pair<float, float>& b) {
  constexpr float kApart = 0.99F;
  return std::abs(a.first - b.first) < kApart && std::abs(a.second - b.second) < kApart;
}

void ReadLayout(const Place& place, const YAML::Node& node, PuzzleFile& puzzle) {
  for (const YAML::Node& each : place.List(node, "layout")) {
    const std::string what = "layout: position " + std::to_string(puzzle.layout.size());
    const std::vector<YAML::Node> cell = place.List(each, what);
    if (cell.size() != 2) place.Fail(each, what + ": expected [x, y]");
    const std::pair at(place.Number(cell[0], what, 0, kMaxCoordinate),
                       place.Number(cell[1], what, 0, kMaxCoordinate));
    const auto hidden =
        std::ranges::find_if(puzzle.layout, [&](const auto& other) { return Overlap(at, other); });
    if (hidden != puzzle.layout.end()) {
      place.Fail(each, what + " overlaps position " +
                           std::to_string(hidden - puzzle.layout.begin()) +
                           ": expected them 1 apart, in x or in y");
    }
    puzzle.layout.push_back(at);
  }
  if (puzzle.layout.size() == puzzle.goal.size()) return;
  place.Fail(node, "layout: " + std::to_string(puzzle.layout.size()) + " positions, expected " +
                       std::to_string(puzzle.goal.size()) + ", as in the goal");
}

void ReadColours(const Place& place, const YAML::Node& node, PuzzleFile& puzzle) {
  if (!node.IsMap()) place.Fail(node, "colours: expected a colour for each label");
  puzzle.colours.assign(puzzle.labels.size(), Cell::kPlain);
  for (const auto& entry : node) {
    const std::string label = place.Word(entry.first, "colours");
    const auto at = std::ranges::find(puzzle.labels, label) - puzzle.labels.begin();
    if (std::cmp_equal(at, puzzle.labels.size())) {
      place.Fail(entry.first, "colours: " + label + " is not a label of the goal");
    }
    const std::string text = entry.second.IsScalar() ? entry.second.Scalar() : "";
    const bool right = text.size() == 7 && text[0] == '#' &&
                       text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos;
    if (!right) place.Fail(entry.second, "colours: expected \"#rrggbb\" for " + label);
    puzzle.colours[static_cast<std::size_t>(at)] = std::stoi(text.substr(1), nullptr, 16);
  }
}

PuzzleFile Read(const Place& place, const YAML::Node& document) {
  constexpr std::array<const char*, 6> kKeys = {"summary",  "goal",   "generators",
                                                "inverses", "layout", "colours"};
  if (!document.IsMap()) place.Fail(document, "expected `goal` and `generators`");
  place.CheckKeys(document, kKeys, "puzzle");
  for (const char* key : {"goal", "generators"}) {
    if (!document[key]) place.Fail(document, std::string("expected `") + key + "`");
  }
  PuzzleFile puzzle;
  if (document["summary"]) {
    if (!document["summary"].IsScalar()) {
      place.Fail(document["summary"], "summary: expected a text");
    }
    puzzle.summary = document["summary"].Scalar();
    const auto is_control = [](unsigned char letter) { return letter < ' ' || letter == 0x7f; };
    if (std::ranges::any_of(puzzle.summary, is_control)) {
      place.Fail(document["summary"], "summary: expected one line of text");
    }
  }
  ReadGoal(place, document["goal"], puzzle);
  std::string inverses = "added";
  if (document["inverses"]) inverses = place.Word(document["inverses"], "inverses");
  if (inverses != "added" && inverses != "given") {
    place.Fail(document["inverses"], "inverses: expected added or given");
  }
  ReadGenerators(place, document["generators"], inverses == "added", puzzle);
  if (document["layout"]) ReadLayout(place, document["layout"], puzzle);
  if (document["colours"]) ReadColours(place, document["colours"], puzzle);
  return puzzle;
}

bool Marks(std::string_view line, std::string_view marker) {
  return line.starts_with(marker) && line.substr(marker.size()).find_first_not_of(" \t\r") != 0;
}

// Rejects text with several YAML documents, because a reader sees only the first one.
void CheckOneDocument(const Place& place, const std::string& text) {
  std::istringstream lines(text);
  bool begun = false;
  bool ended = false;
  YAML::Mark mark;
  for (std::string line; std::getline(lines, line); ++mark.line) {
    if (Marks(line, "...")) {
      ended = true;
    } else if (line.find_first_not_of(" \t\r") != std::string::npos && line[0] != '#' &&
               line[0] != '%') {
      if (begun && (ended || Marks(line, "---"))) {
        place.Fail(mark, "a second YAML document begins here, expected one");
      }
      begun = true;
    }
  }
}

}  // namespace

PuzzleFile ParsePuzzle(const std::string& text, const std::string& file) {
  const Place place(file);
  CheckOneDocument(place, text);
  try {
    return Read(place, YAML::Load(text));
  } catch (const YAML::Exception& error) {
    place.Fail(error.mark, "not valid YAML: " + error.msg);
  }
}

}  // namespace tandem
