#include "search/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "domain/moves.h"
#include "search/search.h"
#include "tandem/error.h"
#include "tandem/game.h"
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

// Returns the largest allowed cost that `object` has as `at_most`, or 0 if there is no limit.
// Refuses numbers that a float rounds to 0, such as 1e-50.
float ReadAtMost(const json& object) {
  if (!HasValue(object, "at_most")) return 0;
  const json& value = object["at_most"];
  const double exact = value.is_number() ? value.get<double>() : 0;
  const float cost = exact <= kLongest ? static_cast<float>(exact) : 0;
  if (cost > 0) return cost;
  ThrowWrongEntry(object, "at_most", fmt::format("a number above 0 and at most {}", kLongest));
}

// Returns a state as text that may be an array: of numbers, words or rows of a board.
std::string TextOf(const json& value, std::string_view separator) {
  if (!value.is_array()) return value.is_string() ? value.get<std::string>() : DumpJson(value);
  std::string text;
  for (const json& each : value) {
    if (!text.empty()) text += separator;
    text += TextOf(each, separator);
  }
  return text;
}

std::string ReadState(const json& object, const char* key, const Domain& domain) {
  const auto value = object.find(key);
  if (value == object.end() || !value->is_array()) return ReadEntry<std::string>(object, key);
  return TextOf(*value, domain.spec().multiline_states ? "\n" : " ");
}

// Reads the line's fields into `line`, except for the state, which is text still. Returns the text
// of the known solution, or "".
std::string ReadJson(std::string_view text, const Domain& domain, Problem& line) {
  const json object = ParseJsonObject(text);
  line.text = ReadState(object, "state", domain);
  if (HasValue(object, "goal")) {
    const std::string goal = ReadState(object, "goal", domain);
    if (Words(goal) != Words(domain.FormatState(GoalOf(domain)))) line.text += " -> " + goal;
  }
  if (object.contains("id")) {
    if (!object["id"].is_string() && !object["id"].is_number()) {
      ThrowWrongEntry(object, "id", "a number or a string");
    }
    line.id = object["id"];
  }
  line.optimal = ReadLength(object, "optimal");
  line.best_known = ReadLength(object, "best_known");
  line.at_most = ReadAtMost(object);
  if (AsGame(domain) != nullptr && HasValue(object, "best_moves")) {
    line.best_moves = domain.ParseMoves(ReadEntry<std::string>(object, "best_moves"), line.text);
    line.stones = ReadLength(object, "stones");
  }
  if (!HasValue(object, "solution")) return "";
  if (!object["solution"].is_string()) {
    ThrowWrongEntry(object, "solution", "moves, separated by spaces");
  }
  return object["solution"];
}

Problem ReadLine(std::string_view text, std::size_t number, const Domain& domain,
                 const std::string& file) {
  Problem line{.id = number};
  try {
    std::string solution;
    if (text.front() == '{') {
      solution = ReadJson(text, domain, line);
    } else {
      line.text = text;
    }
    std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
    domain.ParseState(line.text, state);
    line.state = state;
    if (!solution.empty()) {
      line.solution = MakeMoves(domain, solution, line.text, state);
      if (!IsGoal(domain, state)) {
        throw InputError("expected `solution` to lead from the state to the goal, and it does not");
      }
    }
  } catch (const InputError& error) {
    line.state.clear();
    line.error = fmt::format("{}:{}: {}", file, number, error.what());
  }
  return line;
}

// LevelNames finds the names of levels in the lines of text between them. A level is named by a
// line "Title: NAME" below it, or above it without an empty line between them, or else by the last
// other line above it, such as "; 7" or "Level 7".
class LevelNames {
 public:
  // Takes a line between levels.
  void Read(std::string_view line, std::vector<Problem>& levels) {
    constexpr std::string_view kMarks = " \t;'\"";
    line.remove_prefix(std::min(line.find_first_not_of(kMarks), line.size()));
    line = line.substr(0, line.find_last_not_of(kMarks) + 1);
    if (line.empty()) {
      if (next_is_title_) NameLast(next_, levels);
      if (next_is_title_) next_.clear();
      next_is_title_ = is_below_ = false;
      return;
    }
    constexpr auto kNone = std::string_view::npos;
    const std::size_t colon = line.find(':');
    const bool is_entry = colon != kNone && line.find_first_of("0123456789") > colon;
    const std::string_view key = is_entry ? line.substr(0, colon) : "";
    const std::string_view value = is_entry ? Trimmed(line.substr(colon + 1)) : line;
    const bool is_title = key == "Title" || key == "title";
    if (is_entry) in_comment_ = key == "Comment" && value.empty();
    if (is_title && is_below_) return NameLast(value, levels);
    const bool is_solution = line.size() > 10 && line.find_first_not_of("udlrUDLR ") == kNone;
    if (in_comment_ || is_solution || is_entry != is_title) return;
    next_ = value;
    next_is_title_ = is_title;
  }

  // Names the level that has just been read.
  void Name(Problem& level) {
    if (!next_.empty()) level.id = IdOf(next_);
    is_titled_ = next_is_title_;
    is_below_ = true;
    next_is_title_ = in_comment_ = false;
    next_.clear();
  }

 private:
  static json IdOf(std::string_view name) {
    const std::optional<std::int64_t> number = ParseNumber<std::int64_t>(name);
    return number ? json(*number) : json(AsUtf8(name));
  }

  void NameLast(std::string_view title, std::vector<Problem>& levels) {
    if (levels.empty() || is_titled_ || title.empty()) return;
    levels.back().id = IdOf(title);
    is_titled_ = true;
  }

  std::string next_;            // name of the next level; "": none yet
  bool next_is_title_ = false;  // and no empty line has come since
  bool is_titled_ = false;      // whether the last level has its title
  bool is_below_ = false;       // whether no empty line has come since the last level
  bool in_comment_ = false;     // between "Comment:" and "Comment-End:"
};

// The lines of a state that has been read so far.
struct Block {
  void Add(std::string_view line, std::size_t number) {
    if (text.empty()) first = number;
    if (!text.empty()) text += '\n';
    text += line;
    width = line.size();
    only_spaces = only_spaces && Trimmed(line).empty();
  }

  // Whether a line of spaces ends the block, or the block is such a line and so no state.
  bool IsSplitAt(std::string_view line) const {
    return !text.empty() && line.size() != width && (only_spaces || Trimmed(line).empty());
  }

  std::string text;
  std::size_t first = 1;  // the number of the first line
  std::size_t width = 0;  // of the last line
  bool only_spaces = true;
};

// Reads states that may have several lines. An empty line ends a state, and so does a line of
// spaces, unless it is as long as the lines beside it: spaces are the floor of a board.
std::vector<Problem> ReadBlocks(std::string text, const Domain& domain, const std::string& file,
                                std::optional<std::int64_t> limit) {
  std::vector<Problem> states;
  std::istringstream in(std::move(text));
  LevelNames names;
  Block block;
  const auto end_block = [&] {
    if (!block.only_spaces) {
      CheckNumber(std::ssize(states), file);
      states.push_back(ReadLine(block.text, block.first, domain, file));
      names.Name(states.back());
    }
    block = {};
  };
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const bool is_json = line.starts_with('{');
    const bool is_between = line.empty() || (!is_json && !domain.IsStateLine(line));
    if (is_json || is_between || block.IsSplitAt(line)) end_block();
    const bool is_full = limit && std::ssize(states) == *limit;
    if (is_between) {
      names.Read(line, states);
    } else if (is_full && !Trimmed(line).empty()) {
      return states;
    } else if (is_json) {
      CheckNumber(std::ssize(states), file);
      states.push_back(ReadLine(line, number, domain, file));
    } else {
      block.Add(line, number);
    }
  }
  end_block();
  names.Read("", states);
  return states;
}

// Whether a line is only the first row of a board, whose rows have lines of their own.
bool IsRowOfBoard(std::string_view line, const DomainSpec& spec) {
  return spec.board && !line.starts_with('{') &&
         std::cmp_equal(NumberWords(line).size(), spec.board->columns) &&
         spec.board->columns < spec.state_size;
}

// Reads states of one line each, except that a board may have a line for each row. Skips blank
// lines and lines that begin with '#'.
std::vector<Problem> ReadLines(std::string text, const Domain& domain, const std::string& file,
                               std::optional<std::int64_t> limit) {
  std::vector<Problem> states;
  std::istringstream in(std::move(text));
  std::string line;
  std::size_t number = 0;
  const auto next = [&] {
    while (std::getline(in, line)) {
      ++number;
      line = Trimmed(line);
      if (!line.empty() && line.front() != '#') return true;
    }
    return false;
  };
  while (!(limit && std::ssize(states) == *limit) && next()) {
    CheckNumber(std::ssize(states), file);
    std::string state = line;
    const std::size_t first = number;
    if (IsRowOfBoard(state, domain.spec())) {
      for (int row = 1; row < domain.spec().board->rows && next(); ++row) {
        state.append("\n").append(line);
      }
    }
    states.push_back(ReadLine(state, first, domain, file));
  }
  return states;
}

// Says how states were understood that could also mean something else.
void LogReadings(const std::vector<Problem>& problems, const Domain& domain,
                 const std::string& file) {
  std::map<std::string, std::int64_t> readings;
  for (const Problem& problem : problems) {
    if (problem.error.empty()) ++readings[domain.Reading(problem.text)];
  }
  for (const auto& [reading, states] : readings) {
    if (reading.empty()) continue;
    LogInfo(fmt::format("{}: {}: {}", file, Counted(states, "state"), reading));
  }
}

// The largest cost of a solution that is worth looking for. 0: no limit.
float AllowedCost(const Problem& problem, const DomainSpec& spec) {
  if (problem.solution.empty()) return problem.at_most;
  const float known = CostOf(spec, problem.solution);
  return problem.at_most > 0 ? std::min(problem.at_most, known) : known;
}

// A solution with fewer moves than a shortest one proves the file of states wrong.
void WarnOfWrongOptimal(const Problem& problem, const SearchResult& result) {
  const std::int64_t moves = std::ssize(result.actions);
  if (!result.solved || !problem.optimal || moves >= *problem.optimal) return;
  LogWarning(
      fmt::format("state {}: `optimal` is {}, but a solution has {}; correct the file of states",
                  DumpJson(problem.id), *problem.optimal, Counted(moves, "move")));
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
  LogReadings(lines, domain, path.string());
  return lines;
}

void SolveProblems(const std::vector<Problem>& problems, const Domain& domain, Search& search,
                   const StopSignal& stop, const Search::Done& done) {
  std::vector<std::size_t> numbers;  // indices of the problems with a valid state
  std::vector<std::uint8_t> states;
  std::vector<float> at_most;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (!problems[i].error.empty()) continue;
    numbers.push_back(i);
    at_most.push_back(AllowedCost(problems[i], domain.spec()));
    states.insert(states.end(), problems[i].state.begin(), problems[i].state.end());
  }
  const ConstRows starts(states.data(), numbers.size(), domain.spec().state_size);
  SolveAndReplay(domain, search, {starts, at_most}, stop, [&](std::size_t i, SearchResult result) {
    WarnOfWrongOptimal(problems[numbers[i]], result);
    done(numbers[i], std::move(result));
  });
}

void SolveAndReplay(const Domain& domain, Search& search, const ProblemBatch& problems,
                    const StopSignal& stop, const Search::Done& done) {
  search.SolveAll(problems, stop, [&](std::size_t i, SearchResult result) {
    if (result.solved && AsGame(domain) == nullptr) {  // the play of a game need not reach its end
      const Stopwatch watch;
      result.actions = WithoutDetours(domain, problems.states[i], result.actions);
      result.cost = CostOf(domain.spec(), result.actions);
      result.seconds += watch.Seconds();
      CheckByReplay(domain, problems.states[i], result.actions);
    }
    done(i, std::move(result));
  });
}

SearchResult SolveAndReplay(const Domain& domain, Search& search,
                            std::span<const std::uint8_t> state, const StopSignal& stop) {
  SearchResult only;
  SolveAndReplay(domain, search, ConstRows(state), stop,
                 [&](std::size_t /*number*/, SearchResult result) { only = std::move(result); });
  return only;
}

void CheckByReplay(const Domain& domain, std::span<const std::uint8_t> start,
                   const std::vector<Action>& actions) {
  std::vector<std::uint8_t> state(start.begin(), start.end());
  ApplyAll(domain, actions, state);
  if (!IsGoal(domain, state)) {
    throw Error(
        fmt::format("the moves {} do not solve the puzzle: a bug in the search or the domain",
                    FormatActions(domain.spec(), actions)));
  }
}

SolveOutcome OutcomeOf(const Problem& problem, const SearchResult& search) {
  return {.solved = search.solved,
          .length = std::ssize(search.actions),
          .nodes = search.nodes,
          .seconds = search.seconds,
          .optimal = problem.optimal,
          .best_known = problem.best_known};
}

}  // namespace tandem
