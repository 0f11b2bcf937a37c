// Puzzles that are written in Python with NumPy.
#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/text.h"
#include "bindings.h"
#include "domain.h"
#include "tandem/check_domain.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem::python {
namespace {

using Names = std::vector<std::string>;

constexpr int kAnyByte = 256;

// A call of Python takes as long as NumPy takes for about this many states.
constexpr std::size_t kLeastBatch = 1024;

// Returns a member of the puzzle, or None if there is none. Throws what a property raises.
nb::object Member(nb::handle puzzle, const char* name) {
  try {
    return puzzle.attr(name);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_AttributeError)) throw;
    return nb::none();
  }
}

// Returns an attribute of the puzzle, or `otherwise` if it is missing or None.
template <class T>
T Attribute(nb::handle puzzle, const char* name, T otherwise, const char* expected) {
  const nb::object value = Member(puzzle, name);
  if (value.is_none()) return otherwise;
  T result;
  if (nb::try_cast<T>(value, result)) return result;
  throw InputError(fmt::format("the puzzle's `{}` is {}, expected {}", name,
                               nb::cast<std::string>(nb::repr(value)), expected));
}

template <class T>
T Required(nb::handle puzzle, const char* name, const char* expected) {
  if (Member(puzzle, name).is_none()) {
    throw InputError(fmt::format("the puzzle has no `{}`, expected {}", name, expected));
  }
  return Attribute<T>(puzzle, name, {}, expected);
}

// Whether the puzzle has a method. A class may set one of its base class to None.
bool Has(nb::handle puzzle, const char* method) { return !Member(puzzle, method).is_none(); }

std::string NameOfPuzzle(nb::handle puzzle) {
  auto name = Required<std::string>(puzzle, "name", "letters, digits and _");
  const auto allowed = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_';
  };
  if (!name.empty() && std::ranges::all_of(name, allowed)) return name;
  throw InputError(
      fmt::format("the puzzle's `name` is '{}', expected letters, digits and _", name));
}

// A game of two players (tandem.Game) says how its states stand; a puzzle has goals.
bool IsGame(nb::handle puzzle) { return Has(puzzle, "outcomes"); }

void CheckMethods(nb::handle puzzle, const DomainSpec& spec) {
  const bool is_game = IsGame(puzzle);
  for (const std::string& method : is_game ? Names{"start", "apply", "applicable", "players"}
                                           : Names{"goal", "apply", "is_goal"}) {
    if (Has(puzzle, method.c_str())) continue;
    throw InputError(
        fmt::format("{} '{}' has no method `{}`", is_game ? "game" : "puzzle", spec.name, method));
  }
  if (!is_game && spec.inverse_actions.empty() && !Has(puzzle, "step_back")) {
    throw InputError(fmt::format(
        "puzzle '{}' has neither `inverse_actions`, which lists for each action the one that "
        "undoes it, nor a method `step_back`, expected one of them",
        spec.name));
  }
  if (spec.input.positions != spec.state_size && !Has(puzzle, "encode")) {
    throw InputError(fmt::format(
        "puzzle '{}': `positions` is {} and `state_size` is {}, so it needs a method `encode`",
        spec.name, spec.input.positions, spec.state_size));
  }
}

DomainSpec SpecOf(nb::handle puzzle) {
  DomainSpec spec;
  spec.name = NameOfPuzzle(puzzle);
  spec.summary = Attribute<std::string>(puzzle, "summary", "a puzzle in Python", "a text");
  spec.version = Attribute<std::string>(puzzle, "version", "", "a text");
  spec.state_size = Required<int>(puzzle, "state_size", "the number of bytes of a state");
  spec.input.positions =
      Attribute<int>(puzzle, "positions", spec.state_size, "the length of an encoded state");
  spec.input.depth = Required<int>(puzzle, "depth", "a bound of the numbers of an encoded state");
  const auto board =
      Attribute<std::pair<int, int>>(puzzle, "board", {0, 0}, "a pair (rows, columns)");
  if (board.first != 0) spec.board = {.rows = board.first, .columns = board.second};
  spec.action_names = Required<std::vector<std::string>>(puzzle, "action_names", "a list of texts");
  spec.inverse_actions = Attribute<std::vector<Action>>(puzzle, "inverse_actions", {},
                                                        "a list with the index of an action each");
  spec.action_costs =
      Attribute<std::vector<float>>(puzzle, "action_costs", {}, "a list of numbers");
  spec.masks_actions = Has(puzzle, "applicable");
  spec.per_problem_goals = Has(puzzle, "draw_goals");
  spec.least_batch = kLeastBatch;
  CheckMethods(puzzle, spec);
  return spec;
}

// The members that tandem.Puzzle lists.
const Names kMethods = {"goal",      "apply",      "is_goal",   "expand", "encode", "applicable",
                        "step_back", "draw_goals", "all_goals", "parse",  "format"};
const Names kAttributes = {"name",         "state_size", "depth", "action_names", "inverse_actions",
                           "action_costs", "positions",  "board", "summary",      "version",
                           "symmetries"};

bool Contains(const Names& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

// Returns the one of `known` that a member of this name was probably meant to be, one that the
// puzzle does not have. Returns "" if there is none.
std::string MeantMember(const std::string& name, const Names& known, const Names& members) {
  constexpr std::size_t kShort = 6;  // two letters make another word of `encode`: `decode`
  for (const std::string& meant : known) {
    const std::size_t most = meant.size() <= kShort ? 1 : 2;
    if (!Contains(members, meant) && EditDistance(name, meant) <= most) return meant;
  }
  return "";
}

void WarnOfMember(const std::string& name, const std::string& meant) {
  if (meant.empty()) return;
  constexpr int kCallerOfRegisterDomain = 2;
  const std::string message =
      fmt::format("Tandem ignores the puzzle's member `{}`; did you mean `{}`?", name, meant);
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), kCallerOfRegisterDomain) != 0) {
    throw nb::python_error();  // the program treats warnings as errors
  }
}

// Warns of public members that are probably misspelled. A puzzle may have other members, so
// Tandem would ignore them without a word.
void WarnOfMisspelledMembers(nb::handle puzzle) {
  const nb::module_ builtins = nb::module_::import_("builtins");
  const auto members = nb::cast<Names>(builtins.attr("dir")(puzzle));
  for (const std::string& name : members) {
    if (name.starts_with('_') || Contains(kMethods, name) || Contains(kAttributes, name)) continue;
    const std::string method = MeantMember(name, kMethods, members);
    const std::string attribute = MeantMember(name, kAttributes, members);
    if (method.empty() && attribute.empty()) continue;
    const bool is_method = PyCallable_Check(Member(puzzle, name.c_str()).ptr()) != 0;
    WarnOfMember(name, is_method ? method : attribute);
  }
}

Array<std::uint8_t> Copy(ConstRows rows) {
  auto array = NewArray<std::uint8_t>({rows.size(), rows.row_size()});
  std::ranges::copy(rows.bytes(), array.data());
  return array;
}

Array<std::uint8_t> Copy(std::span<const std::uint8_t> row) {
  auto array = NewArray<std::uint8_t>({row.size()});
  std::ranges::copy(row, array.data());
  return array;
}

template <class T>
Array<T> Copy(std::span<const T> numbers) {
  auto array = NewArray<T>({numbers.size()});
  std::ranges::copy(numbers, array.data());
  return array;
}

// The methods of puzzles that this thread runs.
thread_local int methods_running = 0;

class PythonDomain;

// All living domains. The set is never destroyed, because static objects are destroyed after the
// interpreter.
std::set<PythonDomain*>& Living() {
  static auto& living = *new std::set<PythonDomain*>();
  return living;
}

/// PythonDomain calls a Python object, in whichever thread it is called itself. Only one thread
/// at a time runs Python code. The object gets copies, which it may keep or change, and at least
/// one state: NumPy makes numbers of another type from an empty list, which puzzles need not
/// foresee.
class PythonDomain final : public Domain {
 public:
  // Call with the GIL.
  explicit PythonDomain(nb::object puzzle)
      : Domain(SpecOf(puzzle)),
        puzzle_(std::move(puzzle)),
        expands_(Has(puzzle_, "expand")),
        encodes_(Has(puzzle_, "encode")),
        has_all_goals_(Has(puzzle_, "all_goals")),
        is_game_(IsGame(puzzle_)),
        parses_(Has(puzzle_, "parse")),
        formats_(Has(puzzle_, "format")) {
    Living().insert(this);
  }

  ~PythonDomain() override {
    const nb::gil_scoped_acquire gil;
    Living().erase(this);
    puzzle_.reset();
  }

  // Hands the object over. Later calls fail. Call with the GIL.
  nb::object Release() { return std::move(puzzle_); }

  // Returns whether Ctrl-C has ended a method of the object since the last call.
  bool TakeInterrupt() const { return interrupted_.exchange(false); }

  void WriteGoals(Rows states) const override {
    if (states.size() == 0) return;
    std::vector<std::uint8_t> goal(states.row_size());
    Call(is_game_ ? "start" : "goal",
         [&](nb::handle method) { CopyBytes(method(), {goal.size()}, goal); });
    for (std::size_t i = 0; i < states.size(); ++i) std::ranges::copy(goal, states[i].begin());
  }

  void DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const override {
    if (states.size() == 0) return;
    if (!spec().per_problem_goals) return WriteGoals(states);
    Call("draw_goals", [&](nb::handle method) {
      CopyBytes(method(Copy(seeds)), {states.size(), states.row_size()}, states.bytes());
    });
  }

  void AllGoals(std::span<const std::uint8_t> goal,
                std::vector<std::uint8_t>& goals) const override {
    if (!has_all_goals_) return Domain::AllGoals(goal, goals);
    Call("all_goals", [&](nb::handle method) {
      const nb::object found = method(Copy(goal));
      const std::size_t first = goals.size();
      goals.resize(first + nb::len(found) * goal.size());
      CopyBytes(found, {nb::len(found), goal.size()}, std::span(goals).subspan(first));
    });
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    if (states.size() == 0) return;
    Call("apply", [&](nb::handle method) {
      CopyBytes(method(Copy(ConstRows(states)), Copy(actions)), {states.size(), states.row_size()},
                states.bytes());
    });
  }

  void Expand(ConstRows states, Rows children) const override {
    if (states.size() == 0) return;
    if (!expands_) return Domain::Expand(states, children);
    Call("expand", [&](nb::handle method) {
      CopyBytes(method(Copy(states)), {states.size(), num_actions(), states.row_size()},
                children.bytes());
    });
  }

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    if (states.size() == 0) return;
    if (!spec().masks_actions) return Domain::Mask(states, applies);
    Call("applicable", [&](nb::handle method) {
      CopyBytes(method(Copy(states)), {states.size(), num_actions()}, applies);
    });
  }

  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const override {
    if (states.size() == 0) return;
    if (!spec().inverse_actions.empty()) return Domain::StepBack(states, randoms, actions);
    Call("step_back", [&](nb::handle method) {
      std::pair<nb::object, nb::object> step;
      if (!nb::try_cast(method(Copy(ConstRows(states)), Copy(randoms)), step)) {
        throw InputError("expected a pair (actions, predecessors)");
      }
      const std::vector<std::int64_t> taken = WholeNumbers(
          step.first, states.size(), -1, spec().num_actions() - 1, "the actions of step_back");
      std::vector<std::uint8_t> before(states.bytes().size());
      CopyBytes(step.second, {states.size(), states.row_size()}, before);
      const ConstRows predecessors(before.data(), states.size(), states.row_size());
      for (std::size_t i = 0; i < states.size(); ++i) {
        actions[i].reset();
        if (taken[i] < 0) continue;
        actions[i] = static_cast<Action>(taken[i]);
        std::ranges::copy(predecessors[i], states[i].begin());
      }
    });
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    if (states.size() == 0) return;
    Call("is_goal",
         [&](nb::handle method) { CopyBytes(method(Copy(states)), {states.size()}, is_goal); });
  }

  void Encode(ConstRows states, Rows inputs) const override {
    if (states.size() == 0) return;
    if (!encodes_) return Domain::Encode(states, inputs);
    Call("encode", [&](nb::handle method) {
      CopyBytes(method(Copy(states)), {states.size(), inputs.row_size()}, inputs.bytes());
    });
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    if (!parses_) return ParseNumbers(text, encodes_ ? kAnyByte : spec().input.depth, state);
    Call("parse", [&](nb::handle method) {
      try {
        CopyBytes(method(std::string(text)), {state.size()}, state);
      } catch (nb::python_error& error) {
        if (!error.matches(PyExc_ValueError)) throw;
        throw InputError(nb::cast<std::string>(nb::str(nb::handle(error.value()))));
      }
    });
  }

  // Calls a method that returns a number for each state.
  void NumberStates(const char* name, ConstRows states, std::span<std::uint8_t> numbers) const {
    if (states.size() == 0) return;
    Call(name,
         [&](nb::handle method) { CopyBytes(method(Copy(states)), {states.size()}, numbers); });
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    if (!formats_) return FormatNumbers(state);
    std::string text;
    Call("format", [&](nb::handle method) { text = nb::cast<std::string>(method(Copy(state))); });
    return text;
  }

 private:
  std::size_t num_actions() const { return static_cast<std::size_t>(spec().num_actions()); }

  // Calls work(method of the puzzle) with the GIL. Errors become Error, because they may have to
  // pass through threads without Python; only ParseState may throw InputError.
  template <class Work>
  void Call(const char* method, const Work& work) const {
    const nb::gil_scoped_acquire gil;
    const CallScope running(methods_running);
    if (!puzzle_) throw Error(fmt::format("puzzle '{}': Python is ending", spec().name));
    try {
      work(puzzle_.attr(method));
    } catch (const nb::python_error& error) {
      const std::string message =
          fmt::format("puzzle '{}': {} failed: {}", spec().name, method, error.what());
      if (!error.matches(PyExc_KeyboardInterrupt)) throw Error(message);
      interrupted_ = true;
      throw Interrupted(message);
    } catch (const nb::cast_error&) {
      throw Error(fmt::format("puzzle '{}': {} returned an object of another type than expected",
                              spec().name, method));
    } catch (const WrongResult& error) {
      throw Error(fmt::format("puzzle '{}': {} returned {}", spec().name, method, error.what()));
    } catch (const InputError& error) {
      if (std::string_view(method) == "parse") throw;
      throw Error(fmt::format("puzzle '{}': {}: {}", spec().name, method, error.what()));
    }
  }

  nb::object puzzle_;  // null once Python ends
  mutable std::atomic<bool> interrupted_{false};
  const bool expands_, encodes_, has_all_goals_, is_game_, parses_, formats_;
};

// Returns the pairs (positions, actions) that the attribute `symmetries` lists.
std::vector<Symmetry> SymmetriesOf(nb::handle game) {
  using Pair = std::pair<std::vector<std::uint32_t>, std::vector<Action>>;
  std::vector<Symmetry> symmetries;
  for (auto& [positions, actions] : Attribute<std::vector<Pair>>(
           game, "symmetries", {}, "a list of pairs of lists (positions, actions)")) {
    symmetries.push_back({.positions = std::move(positions), .actions = std::move(actions)});
  }
  return symmetries;
}

/// PythonGame calls a Python object that is a game of two players.
class PythonGame final : public GameDomain {
 public:
  // Call with the GIL.
  explicit PythonGame(const nb::object& game)
      : GameDomain(SpecOf(game), SymmetriesOf(game)), object_(game) {}

  const PythonDomain& object() const { return object_; }

  void WriteGoals(Rows states) const override { object_.WriteGoals(states); }
  void Apply(Rows states, std::span<const Action> actions) const override {
    object_.Apply(states, actions);
  }
  void Expand(ConstRows states, Rows children) const override { object_.Expand(states, children); }
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    object_.Mask(states, applies);
  }
  void Outcomes(ConstRows states, std::span<Outcome> outcomes) const override {
    std::vector<std::uint8_t> numbers(states.size());
    object_.NumberStates("outcomes", states, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] > static_cast<std::uint8_t>(Outcome::kWin)) {
        throw Error(fmt::format("game '{}': outcomes returned {}, expected 0 to 3", spec().name,
                                numbers[i]));
      }
      outcomes[i] = static_cast<Outcome>(numbers[i]);
    }
  }
  void Players(ConstRows states, std::span<std::uint8_t> players) const override {
    object_.NumberStates("players", states, players);
  }
  void Encode(ConstRows states, Rows inputs) const override { object_.Encode(states, inputs); }
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    object_.ParseState(text, state);
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return object_.FormatState(state);
  }

 private:
  PythonDomain object_;
};

// Returns what calls the Python object of a domain; null if the domain is not written in Python.
const PythonDomain* InPython(const Domain& domain) {
  const auto* const game = dynamic_cast<const PythonGame*>(&domain);
  return game != nullptr ? &game->object() : dynamic_cast<const PythonDomain*>(&domain);
}

// The registered puzzles by name. The map is never destroyed, because static objects are destroyed
// after the interpreter; Python empties it at exit.
std::map<std::string, nb::object>& Puzzles() {
  static auto& puzzles = *new std::map<std::string, nb::object>();
  return puzzles;
}

std::unique_ptr<const Domain> MakeRegistered(const std::string& name) {
  const nb::gil_scoped_acquire gil;
  const nb::object& puzzle = Puzzles().at(name);
  if (IsGame(puzzle)) return std::make_unique<PythonGame>(puzzle);
  return std::make_unique<PythonDomain>(puzzle);
}

// A member that contradicts another one is wrong, as one of another type is.
std::shared_ptr<const Domain> MakeFrom(const nb::object& puzzle) {
  try {
    if (IsGame(puzzle)) return std::make_shared<const PythonGame>(puzzle);
    return std::make_shared<const PythonDomain>(puzzle);
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw InputError(error.what());
  }
}

// `text`, which the check of a Domain wrote, with the names that members have in Python.
std::string InNamesOfPython(std::string text) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"WriteGoals", "goal"},
       {"DrawGoals", "draw_goals"},
       {"IsGoal", "is_goal"},
       {"AllGoals", "all_goals"},
       {"Apply", "apply"},
       {"Expand", "expand"},
       {"Mask", "applicable"},
       {"Encode", "encode"},
       {"StepBack", "step_back"},
       {"input.depth", "depth"},
       {"input.positions", "positions"}});
  for (const auto& [name, in_python] : kNames) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), in_python);
      at += in_python.size();
    }
  }
  return text;
}

Puzzle Register(const nb::object& puzzle, bool check) {
  if (PyType_Check(puzzle.ptr()) != 0) {
    const auto name = nb::cast<std::string>(puzzle.attr("__name__"));
    throw InputError(
        fmt::format("puzzle: found the class {}, expected an object of it: {}()", name, name));
  }
  WarnOfMisspelledMembers(puzzle);
  const auto domain = MakeFrom(puzzle);
  const std::string& name = domain->spec().name;
  const bool known = Puzzles().contains(name);
  if (!known && std::ranges::count(DomainNames(), name) > 0) {
    throw InputError(
        fmt::format("puzzle '{}': Tandem has a domain of this name; choose another", name));
  }
  if (check) {
    const nb::gil_scoped_release release;
    const std::vector<DomainCheck> broken = BrokenPromises(*domain, {.states = 60, .workers = 2});
    if (!broken.empty()) {
      throw Error(fmt::format("puzzle '{}' breaks a promise: {}: {}. Correct the puzzle.", name,
                              InNamesOfPython(std::string(broken.front().promise)),
                              InNamesOfPython(broken.front().broken)));
    }
  }
  Puzzles()[name] = puzzle;
  if (!known) RegisterDomain(name, [name] { return MakeRegistered(name); });
  return {.domain = domain};
}

// Domains of a script hold its puzzle, whose class holds the variables of the script, and those may
// hold the domains. Python does not see this cycle, so it is broken when Python ends.
void ReleasePuzzles() {
  // The end of an object may destroy domains, so the objects are collected before any ends.
  const std::map<std::string, nb::object> registered = std::exchange(Puzzles(), {});
  std::vector<nb::object> puzzles;
  puzzles.reserve(Living().size());
  for (PythonDomain* const domain : Living()) puzzles.push_back(domain->Release());
}

}  // namespace

bool IsInPuzzleMethod() { return methods_running > 0; }

std::vector<DomainCheck> BrokenPromises(const Domain& domain, const CheckDomainOptions& options) {
  const PythonDomain* const puzzle = InPython(domain);
  if (puzzle != nullptr) puzzle->TakeInterrupt();  // one of an earlier call
  std::vector<DomainCheck> checks = CheckDomain(domain, options);
  if (puzzle != nullptr && puzzle->TakeInterrupt()) throw Interrupted("the check was interrupted");
  std::erase_if(checks, [](const DomainCheck& check) { return check.broken.empty(); });
  return checks;
}

void BindPythonDomains(nb::module_& module) {
  module.def("register_domain", &Register, nb::arg("puzzle"), nb::arg("check"),
             "Adds a puzzle; `tandem.register_domain` calls it.");
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&ReleasePuzzles));
}

}  // namespace tandem::python
