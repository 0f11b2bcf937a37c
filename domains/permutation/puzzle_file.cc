#include "permutation/puzzle_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

constexpr std::size_t kMaxPositions = 32'768;  // each may take two bytes of a state
constexpr std::size_t kMaxGenerators = 4096;   // compared in pairs
constexpr float kMaxCoordinate = 1000;         // greatest coordinate of a layout, in cells

// Formats a number without an exponent: 0.000001 and not 1e-06.
std::string Plain(float number) {
  std::array<char, 64> digits{};
  const auto written =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  return {digits.data(), written.ptr};
}

// YamlReader reads nodes of one YAML file, with errors that name the file and the line. `what` is
// the name of a node in messages, for example "goal". Each method throws as Fail does if a node
// does not have the expected form.
class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  bool is_gap() const { return file_.ends_with(".gap"); }

  // The number of the first position in cycles.
  std::size_t first_position() const { return is_gap() ? 1 : 0; }

  // Throws InputError that names the file, the line of the node and `what`.
  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& what) const {
    const std::string line = mark.is_null() ? "" : ":" + std::to_string(mark.line + 1);
    throw InputError(file_ + line + ": " + what);
  }
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& what) const {
    Fail(node.Mark(), what);
  }

  // Reads a scalar without white space.
  std::string Word(const YAML::Node& node, const std::string& what) const {
    const auto is_space = [](unsigned char letter) { return letter <= ' ' || letter == 0x7f; };
    if (!node.IsScalar() || node.Scalar().empty() || std::ranges::any_of(node.Scalar(), is_space)) {
      Fail(node, what + ": expected a word without white space" + Found(node));
    }
    return node.Scalar();
  }

  std::vector<YAML::Node> List(const YAML::Node& node, const std::string& what) const {
    if (!node.IsSequence()) Fail(node, what + ": expected a list" + Found(node));
    return {node.begin(), node.end()};
  }

  // Reads a number from `least` to `most`.
  float Number(const YAML::Node& node, const std::string& what, float least, float most) const {
    float number = 0;
    if (node.IsScalar() && YAML::convert<float>::decode(node, number) && number >= least &&
        number <= most) {
      return number;
    }
    Fail(node,
         what + ": expected a number from " + Plain(least) + " to " + Plain(most) + Found(node));
  }

  // Checks that no key of `map` occurs twice or is unknown. `of` names the map in messages.
  void CheckKeys(const YAML::Node& map, std::span<const char* const> known,
                 const std::string& of) const {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = Word(entry.first, of + " key");
      if (!seen.insert(key).second) {
        Fail(entry.first, std::string(of).append(" `").append(key).append("` occurs twice"));
      }
      if (std::ranges::find(known, key) != known.end()) continue;
      std::string keys;
      for (const char* each : known) keys += (keys.empty() ? "" : ", ") + std::string(each);
      Fail(entry.first, std::string("unknown ")
                            .append(of)
                            .append(" key `")
                            .append(key)
                            .append("`; the keys are ")
                            .append(keys));
    }
  }

  // What stands in the place of what was expected, for messages.
  static std::string Found(const YAML::Node& node) {
    if (node.IsScalar()) return ", found " + Quoted(node.Scalar());
    return node.IsMap() ? ", found a map" : node.IsSequence() ? ", found a list" : "";
  }

 private:
  std::string file_;
};

// Positions are counted from `first`.
std::uint16_t ParsePosition(std::string_view word, std::size_t positions, const std::string& where,
                            std::size_t first = 0) {
  std::size_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || number < first || number - first >= positions) {
    throw std::invalid_argument(where + " is " + Quoted(word) + ", expected a position from " +
                                std::to_string(first) + " to " +
                                std::to_string(first + positions - 1));
  }
  return static_cast<std::uint16_t>(number - first);
}

// Removes the next token, a parenthesis or a number, from `text` and returns it; nothing
// at the end.
std::optional<std::string_view> NextToken(std::string_view& text) {
  constexpr std::string_view kSpace = " \t\r\n,";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (text.empty()) return std::nullopt;
  const bool parenthesis = text[0] == '(' || text[0] == ')';
  const std::size_t end = parenthesis ? 1 : std::min(text.find_first_of(" \t\r\n,()"), text.size());
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(end);
  return token;
}

// Reads cycles such as "(0 1 2)(5 6)": the contents of position 0 move to 1, those of 1 to 2, and
// those of 2 to 0. Positions are counted from `first`. Throws std::invalid_argument that names the
// wrong position.
Permutation ParseCycles(std::string_view text, std::size_t positions, std::size_t first) {
  Permutation permutation(positions);
  std::iota(permutation.begin(), permutation.end(), std::uint16_t{0});
  std::vector<bool> seen(positions, false);
  std::vector<std::uint16_t> cycle;
  std::size_t number = 0;
  bool open = false;
  while (const std::optional<std::string_view> token = NextToken(text)) {
    const std::string this_cycle = "cycle " + std::to_string(number);
    if (*token == "(") {
      if (open) throw std::invalid_argument(this_cycle + " is not closed: expected ')'");
      open = true;
      ++number;
      cycle.clear();
    } else if (!open) {
      throw std::invalid_argument("expected '(' to begin a cycle, found " + Quoted(*token));
    } else if (*token == ")") {
      open = false;
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        permutation[cycle[(i + 1) % cycle.size()]] = cycle[i];
      }
    } else {
      const std::string where = "in " + this_cycle + ", number " + std::to_string(cycle.size() + 1);
      cycle.push_back(ParsePosition(*token, positions, where, first));
      if (seen[cycle.back()]) {
        throw std::invalid_argument("position " + std::string(*token) +
                                    " occurs twice in its cycles: not a permutation");
      }
      seen[cycle.back()] = true;
    }
  }
  if (open) throw std::invalid_argument("the last cycle is not closed: expected ')'");
  return permutation;
}

// Reads an array: number i is the position whose contents move to position i. Throws
// std::invalid_argument that names the wrong position.
Permutation ParseArray(const std::vector<std::string>& numbers, std::size_t positions) {
  if (numbers.size() != positions) {
    throw std::invalid_argument(std::to_string(numbers.size()) + " positions, expected " +
                                std::to_string(positions) + ", as in the goal");
  }
  Permutation permutation;
  std::vector<bool> taken(positions);
  for (std::size_t i = 0; i < positions; ++i) {
    const std::string where = "position " + std::to_string(i);
    const std::uint16_t from = ParsePosition(numbers[i], positions, where);
    if (taken[from]) {
      const auto other = std::ranges::find(permutation, from) - permutation.begin();
      throw std::invalid_argument(where + " takes from " + numbers[i] + ", as position " +
                                  std::to_string(other) + " does: not a permutation");
    }
    taken[from] = true;
    permutation.push_back(from);
  }
  return permutation;
}

void ReadGoal(const YamlReader& yaml, const YAML::Node& node, PuzzleFile& puzzle) {
  const std::vector<YAML::Node> list = yaml.List(node, "goal");
  if (list.empty() || list.size() > kMaxPositions) {
    yaml.Fail(node, "goal: " + std::to_string(list.size()) + " positions, expected 1 to " +
                        std::to_string(kMaxPositions));
  }
  std::map<std::string, std::size_t> numbers;
  for (const YAML::Node& each : list) {
    const std::string label =
        yaml.Word(each, "goal: position " + std::to_string(puzzle.goal.size()));
    const auto [at, is_new] = numbers.try_emplace(label, puzzle.labels.size());
    puzzle.goal.push_back(static_cast<std::uint16_t>(at->second));
    if (is_new) puzzle.labels.push_back(label);
  }
}

// Reads a generator's permutation, `node`, in either notation. An empty value has no line number,
// so its errors use the line of its key, `key`.
Permutation ReadPermutation(const YamlReader& yaml, const std::string& of, const YAML::Node& key,
                            const YAML::Node& node, std::size_t positions) {
  try {
    if (node.IsScalar()) return ParseCycles(node.Scalar(), positions, yaml.first_position());
    const auto is_scalar = [](const YAML::Node& each) { return each.IsScalar(); };
    if (!node.IsSequence() || !std::all_of(node.begin(), node.end(), is_scalar)) {
      throw std::invalid_argument("expected cycles, a text such as \"(0 1)\", or an array of " +
                                  std::to_string(positions) + " positions");
    }
    std::vector<std::string> numbers;
    for (const YAML::Node& each : node) numbers.push_back(each.Scalar());
    return ParseArray(numbers, positions);
  } catch (const std::invalid_argument& wrong) {
    yaml.Fail(node.IsNull() ? key : node, of + ": " + wrong.what());
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
Generator ReadGenerator(const YamlReader& yaml, const YAML::Node& key, const YAML::Node& value,
                        std::size_t positions, bool minus) {
  Generator generator{.mark = key.Mark(),
                      .name = yaml.Word(key, "a generator's name"),
                      .permutation = {},
                      .inverse_name = "",
                      .named_inverse = {}};
  generator.inverse_name = minus ? "-" + generator.name : generator.name + "'";
  const std::string of = "generator " + generator.name;
  if (!value.IsMap()) {
    generator.permutation = ReadPermutation(yaml, of, key, value, positions);
    return generator;
  }
  constexpr std::array<const char*, 3> kKeys = {"moves", "cost", "inverse"};
  yaml.CheckKeys(value, kKeys, of);
  if (!value["moves"]) yaml.Fail(value, of + ": expected `moves`, cycles or an array");
  generator.permutation = ReadPermutation(yaml, of, key, value["moves"], positions);
  if (value["cost"]) {
    generator.cost = yaml.Number(value["cost"], of + ": cost", kLeastActionCost, kMostActionCost);
  }
  if (value["inverse"]) {
    generator.named_inverse = value["inverse"];
    generator.inverse_name = yaml.Word(generator.named_inverse, of + ": inverse");
  }
  return generator;
}

void AddAction(const YamlReader& yaml, const Generator& generator, const std::string& name,
               const Permutation& permutation, PuzzleFile& puzzle) {
  if (std::ranges::find(puzzle.names, name) != puzzle.names.end()) {
    yaml.Fail(generator.mark, "two moves are named " + name);
  }
  puzzle.names.push_back(name);
  puzzle.permutations.push_back(permutation);
  puzzle.costs.push_back(generator.cost);
}

// Whether a generator undoes `generator`. If the file names its inverse, only that one counts,
// though other generators may have the same permutation.
bool IsUndone(const YamlReader& yaml, const Generator& generator,
              const std::vector<Generator>& generators) {
  const Permutation inverse = Inverse(generator.permutation);
  const auto undoes = std::ranges::find(generators, inverse, &Generator::permutation);
  if (undoes == generators.end()) return false;
  if (generator.named_inverse.IsNull()) return true;
  const auto named = std::ranges::find(generators, generator.inverse_name, &Generator::name);
  if (named == generators.end() || named->permutation != inverse) {
    yaml.Fail(generator.named_inverse, "generator " + generator.name + ": inverse is " +
                                           generator.inverse_name + ", but " + undoes->name +
                                           " undoes it");
  }
  return true;
}

[[noreturn]] void FailWithoutInverse(const YamlReader& yaml, const Generator& generator,
                                     const std::string& why) {
  const YAML::Mark& mark =
      generator.named_inverse.IsNull() ? generator.mark : generator.named_inverse.Mark();
  yaml.Fail(mark, "generator " + generator.name + why);
}

// Checks that a generator changes the goal. Otherwise the goal would be the only state.
void CheckChangesGoal(const YamlReader& yaml, const YAML::Node& node, const PuzzleFile& puzzle) {
  for (const Permutation& permutation : puzzle.permutations) {
    for (std::size_t i = 0; i < permutation.size(); ++i) {
      if (puzzle.goal[permutation[i]] != puzzle.goal[i]) return;
    }
  }
  yaml.Fail(node,
            "generators: no generator changes the goal, so there is nothing to solve; expected one "
            "that moves different labels");
}

void ReadGenerators(const YamlReader& yaml, const YAML::Node& node, const std::string& inverses,
                    PuzzleFile& puzzle) {
  const bool add_inverses = inverses != "given";
  if (!node.IsMap() || node.size() == 0) yaml.Fail(node, "generators: expected names and moves");
  if (node.size() > kMaxGenerators) {
    yaml.Fail(node, "generators: " + std::to_string(node.size()) +
                        " generators, expected at most " + std::to_string(kMaxGenerators));
  }
  std::vector<Generator> generators;
  for (const auto& entry : node) {
    generators.push_back(ReadGenerator(yaml, entry.first, entry.second, puzzle.goal.size(),
                                       /*minus=*/inverses == "minus"));
  }
  for (const Generator& generator : generators) {
    if (std::ranges::is_sorted(generator.permutation)) {
      yaml.Fail(generator.mark, "generator " + generator.name + " moves nothing");
    }
    AddAction(yaml, generator, generator.name, generator.permutation, puzzle);
    if (IsUndone(yaml, generator, generators)) continue;
    const std::string& inverse_name = generator.inverse_name;
    if (std::ranges::find(generators, inverse_name, &Generator::name) != generators.end()) {
      FailWithoutInverse(yaml, generator,
                         ": " + inverse_name + " does not undo it" +
                             (add_inverses ? "; give its inverse another name with `inverse`"
                                           : ", nor does another generator"));
    }
    if (!add_inverses) {
      FailWithoutInverse(
          yaml, generator,
          " has no inverse among the generators; `inverses: added` adds " + inverse_name);
    }
    AddAction(yaml, generator, inverse_name, Inverse(generator.permutation), puzzle);
  }
  CheckChangesGoal(yaml, node, puzzle);
}

// Whether one cell would hide part of the other. The comparison tolerates rounding errors.
bool Overlap(const std::pair<float, float>& a, const std::pair<float, float>& b) {
  constexpr float kApart = 0.99F;
  return std::abs(a.first - b.first) < kApart && std::abs(a.second - b.second) < kApart;
}

void ReadLayout(const YamlReader& yaml, const YAML::Node& node, PuzzleFile& puzzle) {
  const std::vector<YAML::Node> cells = yaml.List(node, "layout");
  if (cells.size() != puzzle.goal.size()) {
    yaml.Fail(node, "layout: " + std::to_string(cells.size()) + " positions, expected " +
                        std::to_string(puzzle.goal.size()) + ", as in the goal");
  }
  for (const YAML::Node& each : cells) {
    const std::string what = "layout: position " + std::to_string(puzzle.layout.size());
    const std::vector<YAML::Node> cell = yaml.List(each, what);
    if (cell.size() != 2) yaml.Fail(each, what + ": expected [x, y]");
    const std::pair at(yaml.Number(cell[0], what, 0, kMaxCoordinate),
                       yaml.Number(cell[1], what, 0, kMaxCoordinate));
    const auto hidden =
        std::ranges::find_if(puzzle.layout, [&](const auto& other) { return Overlap(at, other); });
    if (hidden != puzzle.layout.end()) {
      yaml.Fail(each, what + " overlaps position " +
                          std::to_string(hidden - puzzle.layout.begin()) +
                          ": expected them 1 apart, in x or in y");
    }
    puzzle.layout.push_back(at);
  }
}

void ReadColours(const YamlReader& yaml, const YAML::Node& node, PuzzleFile& puzzle) {
  if (!node.IsMap()) yaml.Fail(node, "colours: expected a colour for each label");
  puzzle.colours.assign(puzzle.labels.size(), Cell::kPlain);
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string label = yaml.Word(entry.first, "colours");
    const auto at = std::ranges::find(puzzle.labels, label) - puzzle.labels.begin();
    if (std::cmp_equal(at, puzzle.labels.size())) {
      yaml.Fail(entry.first, "colours: " + label + " is not a label of the goal");
    }
    if (!seen.insert(label).second) yaml.Fail(entry.first, "colours: " + label + " occurs twice");
    const std::string text = entry.second.IsScalar() ? entry.second.Scalar() : "";
    const bool right = text.size() == 7 && text[0] == '#' &&
                       text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos;
    if (!right) {
      yaml.Fail(entry.second,
                "colours: expected \"#rrggbb\" for " + label + YamlReader::Found(entry.second));
    }
    puzzle.colours[static_cast<std::size_t>(at)] = std::stoi(text.substr(1), nullptr, 16);
  }
  for (const std::string& label : puzzle.labels) {
    if (!seen.contains(label)) yaml.Fail(node, "colours: expected a colour for label " + label);
  }
}

PuzzleFile Read(const YamlReader& yaml, const YAML::Node& document) {
  constexpr std::array<const char*, 7> kKeys = {"summary",  "goal",   "central_state", "generators",
                                                "inverses", "layout", "colours"};
  if (!document.IsMap()) yaml.Fail(document, "expected `goal` and `generators`");
  // The file of a competition, which has central_state, may have keys of its own, such as `name`.
  if (!document["central_state"]) yaml.CheckKeys(document, kKeys, "puzzle");
  const char* const goal = document["central_state"] ? "central_state" : "goal";
  if (document["goal"] && goal != std::string_view("goal")) {
    yaml.Fail(document[goal], "central_state is another name of goal, so expected one of them");
  }
  for (const char* key : {goal, "generators"}) {
    if (!document[key]) yaml.Fail(document, std::string("expected `") + key + "`");
  }
  PuzzleFile puzzle;
  if (document["summary"]) {
    if (!document["summary"].IsScalar()) {
      yaml.Fail(document["summary"], "summary: expected a text");
    }
    puzzle.summary = document["summary"].Scalar();
    const auto is_control = [](unsigned char letter) { return letter < ' ' || letter == 0x7f; };
    if (std::ranges::any_of(puzzle.summary, is_control)) {
      yaml.Fail(document["summary"], "summary: expected one line of text");
    }
  }
  ReadGoal(yaml, document[goal], puzzle);
  std::string inverses = "added";
  if (document["inverses"]) inverses = yaml.Word(document["inverses"], "inverses");
  if (inverses != "added" && inverses != "minus" && inverses != "given") {
    yaml.Fail(document["inverses"],
              "inverses: expected added, minus or given, found " + Quoted(inverses));
  }
  ReadGenerators(yaml, document["generators"], inverses, puzzle);
  if (document["layout"]) ReadLayout(yaml, document["layout"], puzzle);
  if (document["colours"]) ReadColours(yaml, document["colours"], puzzle);
  return puzzle;
}

bool Marks(std::string_view line, std::string_view marker) {
  return line.starts_with(marker) && line.substr(marker.size()).find_first_not_of(" \t\r") != 0;
}

// Rejects text with several YAML documents, because a reader sees only the first one.
void CheckOneDocument(const YamlReader& yaml, const std::string& text) {
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
        yaml.Fail(mark, "a second YAML document begins here, expected one");
      }
      begun = true;
    }
  }
}

// The greatest number of a position in cycles of GAP, which counts positions from 1. A number above
// kMaxPositions counts as kMaxPositions.
std::size_t GreatestPosition(std::string_view cycles) {
  std::size_t greatest = 0;
  while (const std::optional<std::string_view> token = NextToken(cycles)) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(token->begin(), token->end(), number);
    if (error == std::errc::result_out_of_range) number = kMaxPositions;
    greatest = std::max(greatest, std::min(number, kMaxPositions));
  }
  return greatest;
}

// Returns generators of GAP, such as `R:=(1,2,3)(4,5);`, as YAML with the same lines. Each position
// has its own label. Other statements, such as a list of the generators, are left out.
std::string YamlOfGap(std::string_view file) {
  std::string code;
  bool is_comment = false;
  for (const char letter : file) {
    is_comment = letter == '#' || (is_comment && letter != '\n');
    if (!is_comment) code += letter;
  }
  std::string_view text = code;
  std::string generators;
  std::size_t positions = 0;
  while (!text.empty()) {
    const std::string_view statement = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(statement.size() + 1, text.size()));
    const std::size_t sign = statement.find(":=");
    const std::size_t cycles = statement.find_first_not_of(" \t\r\n", sign + 2);
    if (sign != std::string_view::npos && cycles != std::string_view::npos &&
        statement[cycles] == '(') {
      const std::string_view permutation = statement.substr(sign + 2);
      positions = std::max(positions, GreatestPosition(permutation));
      generators.append(statement.substr(0, sign))
          .append(": \"")
          .append(permutation)
          .append("\", ");
    } else {
      generators.append(static_cast<std::size_t>(std::ranges::count(statement, '\n')), '\n');
    }
  }
  std::string goal;
  for (std::size_t i = 0; i < positions; ++i) goal += std::to_string(i) + ",";
  return "{goal: [" + goal + "], generators: { " + generators + "}}";
}

}  // namespace

PuzzleFile ParsePuzzle(const std::string& text, const std::string& file) {
  const YamlReader yaml(file);
  if (text.size() > kMostPuzzleBytes) {
    throw InputError(file + ": the puzzle has more than " + std::to_string(kMostPuzzleBytes) +
                     " bytes");
  }
  CheckOneDocument(yaml, text);
  try {
    return Read(yaml, YAML::Load(yaml.is_gap() ? YamlOfGap(text) : text));
  } catch (const YAML::Exception& error) {
    yaml.Fail(error.mark, "not valid YAML: " + error.msg);
  }
}

}  // namespace tandem
