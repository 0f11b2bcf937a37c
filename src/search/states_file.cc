#include "search/states_file.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "search/json_lines.h"
#include "search/search.h"
#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

using nlohmann::json;

constexpr int kLongest = 1'000'000;  // largest accepted length
// A state takes some hundred bytes of memory even if its line has one byte.
constexpr std::int64_t kMostStates = 10'000'000;

void CheckNumber(std::int64_t states, const std::string& file) {
  if (states < kMostStates) return;
  throw InputError(fmt::format("{}: the file has more than {} states; read fewer with --limit",
                               file, WithThousands(kMostStates)));
}

// Returns the length that `object` has as `key`, or nothing if it has none.
std::optional<int> ReadLength(const json& object, const char* key) {
  if (!HasValue(object, key)) return std::nullopt;
  return static_cast<int>(ReadCount(object, key, kLongest));
}

// Reads the line's fields into `line`, except for the state, which is text still. Returns the text
// of the known solution, or "".
std::string ReadJson(std::string_view text, Problem& line) {
  const json object = ParseJsonObject(text);
  line.text = ReadEntry<std::string>(object, "state");
  if (object.contains("id")) {
    if (!object["id"].is_string() && !object["id"].is_number()) {
      ThrowWrongEntry(object, "id", "a number or a string");
    }
    line.id = object["id"];
  }
  line.optimal = ReadLength(object, "optimal");
  line.best_known = ReadLength(object, "best_known");
  // A float rounds 1e-50 to 0, which would mean that there is no limit.
  line.at_most = ReadPositiveNumber<float>(object, "at_most", kLongest).value_or(0);
  if (!HasValue(object, "solution")) return "";
  if (!object["solution"].is_string()) {
    ThrowWrongEntry(object, "solution", "moves, separated by spaces");
  }
  return object["solution"];
}

// Reads the moves and checks that they solve the state.
std::vector<Action> ReadSolution(const std::string& text, std::vector<std::uint8_t> state,
                                 const Domain& domain) {
  std::vector<Action> actions = ParseActions(domain.spec(), text);
  ApplyAll(domain, actions, state);
  if (!IsGoal(domain, state)) {
    throw InputError("expected `solution` to lead from the state to the goal, and it does not");
  }
  return actions;
}

Problem ReadLine(std::string_view text, std::size_t number, const Domain& domain,
                 const std::string& file) {
  Problem line{.id = number};
  try {
    std::string solution;
    if (text.front() == '{') {
      solution = ReadJson(text, line);
    } else {
      line.text = text;
    }
    std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
    domain.ParseState(line.text, state);
    if (!solution.empty()) line.solution = ReadSolution(solution, state, domain);
    line.state = std::move(state);
  } catch (const InputError& error) {
    line.error = AtLine(file, number, error.what());
  }
  return line;
}

// Reads states that may have several lines. An empty line ends a state, and so does a line of
// spaces, unless it is as long as the lines beside it: spaces are the floor of a board. Lines that
// begin with ';' are comments, as in collections of Sokoban levels.
std::vector<Problem> ReadBlocks(std::string text, const Domain& domain, const std::string& file,
                                std::optional<std::int64_t> limit) {
  std::vector<Problem> states;
  std::istringstream in(std::move(text));
  std::string block;
  std::size_t first = 1;
  // Of the block:
  std::size_t width = 0;  // of the last line
  bool only_spaces = true;
  const auto end_block = [&] {
    if (!only_spaces) {
      CheckNumber(std::ssize(states), file);
      states.push_back(ReadLine(block, first, domain, file));
    }
    block.clear();
    only_spaces = true;
  };
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const bool is_json = line.starts_with('{');
    const bool is_spaces = Trimmed(line).empty();
    const bool is_other_width = !block.empty() && line.size() != width;
    if (is_json || line.empty() || ((is_spaces || only_spaces) && is_other_width)) end_block();
    if (limit && std::ssize(states) == *limit) return states;
    if (is_json) {
      CheckNumber(std::ssize(states), file);
      states.push_back(ReadLine(line, number, domain, file));
    } else if (!line.empty() && !line.starts_with(';')) {
      if (block.empty()) first = number;
      block += (block.empty() ? "" : "\n") + line;
      width = line.size();
      only_spaces = only_spaces && is_spaces;
    }
  }
  end_block();
  return states;
}

std::vector<Problem> ReadLines(std::string text, const Domain& domain, const std::string& file,
                               std::optional<std::int64_t> limit) {
  std::vector<Problem> states;
  JsonLines lines(file, std::move(text));
  while (!(limit && std::ssize(states) == *limit) && lines.Next()) {
    CheckNumber(std::ssize(states), file);
    states.push_back(ReadLine(lines.text(), lines.number(), domain, file));
  }
  return states;
}

}  // namespace

std::vector<Problem> ReadStates(const std::filesystem::path& path, const Domain& domain,
                                std::optional<std::int64_t> limit) {
  const auto read = domain.spec().multiline_states ? ReadBlocks : ReadLines;
  std::vector<Problem> lines =
      read(WithoutByteOrderMark(ReadInput(path)), domain, path.string(), limit);
  if (lines.empty()) {
    throw InputError(fmt::format(
        "{}: no state found; expected JSON lines with `state`, or plain states", path.string()));
  }
  return lines;
}

}  // namespace tandem
