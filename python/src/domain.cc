#include "domain.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "bindings.h"
#include "domain/random_walks.h"
#include "domain/registry.h"
#include "image.h"
#include "interrupt.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem::python {
namespace {

constexpr std::int64_t kLongestScramble = 1'000'000;

// Rows that are worked on before the next look at signals, some milliseconds.
constexpr std::size_t kRowsPerCheck = 1024;

// Calls work(first, count) for ranges that cover all rows, and ends early if a signal ends the
// work.
template <class Work>
void ForRows(SignalCheck& signals, const DomainSpec& spec, std::size_t rows, const Work& work) {
  const std::size_t most = spec.TaskRows(kRowsPerCheck);
  ForRanges(rows, spec.TaskRows(kGrain), [&](std::size_t first, std::size_t count) {
    const std::size_t end = first + count;
    for (; first < end && signals.Continue(); first += most) {
      work(first, std::min(most, end - first));
    }
  });
  signals.RethrowRaised();
}

// All work on rows is done without the GIL, also for one row: a puzzle that is written in Python
// takes it in whichever thread calls the puzzle.
template <class Work>
void WithoutGil(SignalCheck& signals, const Puzzle& puzzle, std::size_t rows, const Work& work) {
  const nb::gil_scoped_release release;
  ForRows(signals, puzzle.spec(), rows, work);
}

template <class Work>
void WithoutGil(const Puzzle& puzzle, std::size_t rows, const Work& work) {
  SignalCheck signals;
  WithoutGil(signals, puzzle, rows, work);
}

std::size_t StateSize(const Puzzle& puzzle) {
  return static_cast<std::size_t>(puzzle.spec().state_size);
}

std::size_t NumActions(const Puzzle& puzzle) {
  return static_cast<std::size_t>(puzzle.spec().num_actions());
}

Puzzle MakePuzzle(const std::string& name) {
  const nb::gil_scoped_release release;
  return {.domain = MakeDomain(name)};
}

// Throws InputError if no memory can hold `count` states, or a length for each of them.
void CheckCount(const Puzzle& puzzle, std::size_t count) {
  const std::size_t most = kMostBytes / std::max(StateSize(puzzle), sizeof(std::int64_t));
  if (count <= most) return;
  throw InputError(fmt::format("count: found {}, expected at most {}", count, most));
}

Array<std::uint8_t> Goals(const Puzzle& puzzle, std::size_t count, std::uint64_t seed) {
  CheckCount(puzzle, count);
  auto states = NewArray<std::uint8_t>({count, StateSize(puzzle)});
  const Rows rows = RowsOf(states, count, StateSize(puzzle));
  WithoutGil(puzzle, count, [&](std::size_t first, std::size_t size) {
    std::vector<std::uint64_t> seeds(size);
    for (std::size_t i = 0; i < size; ++i) {
      seeds[i] = Random(seed, Purpose::kScramble, /*update=*/0, first + i).Next();
    }
    puzzle.domain->DrawGoals(rows.Slice(first, size), seeds);
  });
  return states;
}

Array<std::uint8_t> ScrambleStates(const Puzzle& puzzle, std::size_t count, nb::handle length,
                                   std::uint64_t seed) {
  CheckCount(puzzle, count);
  const std::vector<std::int64_t> lengths =
      WholeNumbers(length, count, 0, kLongestScramble, "length");
  auto states = NewArray<std::uint8_t>({count, StateSize(puzzle)});
  const Rows rows = RowsOf(states, count, StateSize(puzzle));
  SignalCheck signals;
  WithoutGil(signals, puzzle, count, [&](std::size_t first, std::size_t size) {
    std::vector<Random> randoms;
    for (std::size_t i = first; i < first + size; ++i) {
      randoms.emplace_back(seed, Purpose::kScramble, /*update=*/0, i);
    }
    RandomWalks walks(*puzzle.domain);
    walks.Begin(randoms, std::span(lengths).subspan(first, size));
    while (signals.Continue() && walks.Step()) {
    }
    for (std::size_t i = 0; i < size; ++i) {
      std::ranges::copy(walks.state(i), rows[first + i].begin());
    }
  });
  return states;
}

// Copies the states, and calls change(rows, first) with ranges of the copy.
template <class Change>
Array<std::uint8_t> Changed(SignalCheck& signals, const Puzzle& puzzle, const StateBatch& states,
                            const Change& change) {
  const std::size_t row_size = states.rows().row_size();
  auto result = NewArray<std::uint8_t>(states.ShapeOf({row_size}));
  const Rows rows = RowsOf(result, states.size(), row_size);
  WithoutGil(signals, puzzle, states.size(), [&](std::size_t first, std::size_t size) {
    const Rows range = rows.Slice(first, size);
    std::ranges::copy(states.rows().Slice(first, size).bytes(), range.data());
    change(range, first);
  });
  return result;
}

Array<std::uint8_t> ApplyActions(const Puzzle& puzzle, nb::handle states, nb::handle actions) {
  const StateBatch batch(states, StateSize(puzzle));
  const std::vector<std::int64_t> numbers =
      WholeNumbers(actions, batch.size(), 0, puzzle.spec().num_actions() - 1, "actions");
  const std::vector<Action> each(numbers.begin(), numbers.end());
  SignalCheck signals;
  return Changed(signals, puzzle, batch, [&](Rows rows, std::size_t first) {
    puzzle.domain->Apply(rows, std::span(each).subspan(first, rows.size()));
  });
}

Array<std::uint8_t> Play(const Puzzle& puzzle, nb::handle states, const std::string& moves) {
  const StateBatch batch(states, StateSize(puzzle));
  const std::vector<Action> actions = puzzle.domain->ParseMoves(moves, "");
  SignalCheck signals;
  return Changed(signals, puzzle, batch, [&](Rows rows, std::size_t) {
    std::vector<Action> each(rows.size());
    for (const Action action : actions) {
      if (!signals.Continue()) return;
      std::ranges::fill(each, action);
      puzzle.domain->Apply(rows, each);
    }
  });
}

Array<std::uint8_t> ExpandStates(const Puzzle& puzzle, nb::handle states) {
  const StateBatch batch(states, StateSize(puzzle));
  const std::size_t actions = NumActions(puzzle);
  auto children = NewArray<std::uint8_t>(batch.ShapeOf({actions, StateSize(puzzle)}));
  const Rows rows = RowsOf(children, batch.size() * actions, StateSize(puzzle));
  WithoutGil(puzzle, batch.size(), [&](std::size_t first, std::size_t size) {
    puzzle.domain->Expand(batch.rows().Slice(first, size),
                          rows.Slice(first * actions, size * actions));
  });
  return children;
}

// Calls flag(states, flags) with ranges of the states. Each state has `width` flags.
template <class Flag>
Array<bool> Flags(const Puzzle& puzzle, const StateBatch& batch, std::size_t width,
                  const Shape& rest, const Flag& flag) {
  std::vector<std::uint8_t> flags(batch.size() * width);
  WithoutGil(puzzle, batch.size(), [&](std::size_t first, std::size_t size) {
    flag(batch.rows().Slice(first, size), std::span(flags).subspan(first * width, size * width));
  });
  auto result = NewArray<bool>(batch.ShapeOf(rest));
  std::ranges::transform(flags, result.data(), [](std::uint8_t set) { return set != 0; });
  return result;
}

Array<bool> Applicable(const Puzzle& puzzle, nb::handle states) {
  const StateBatch batch(states, StateSize(puzzle));
  const std::size_t actions = NumActions(puzzle);
  return Flags(
      puzzle, batch, actions, {actions},
      [&](ConstRows rows, std::span<std::uint8_t> flags) { puzzle.domain->Mask(rows, flags); });
}

Array<bool> AreGoals(const Puzzle& puzzle, nb::handle states) {
  const StateBatch batch(states, StateSize(puzzle));
  return Flags(puzzle, batch, 1, {}, [&](ConstRows rows, std::span<std::uint8_t> flags) {
    puzzle.domain->IsGoal(rows, flags);
  });
}

// Throws InputError if the puzzle is not a game of two players.
const GameDomain& RulesOf(const Puzzle& puzzle) {
  const GameDomain* const game = AsGame(*puzzle.domain);
  if (game != nullptr) return *game;
  throw InputError(
      fmt::format("{} is a puzzle, expected a game of two players", puzzle.spec().name));
}

Array<std::uint8_t> Players(const Puzzle& puzzle, nb::handle states) {
  const GameDomain& game = RulesOf(puzzle);
  const StateBatch batch(states, StateSize(puzzle));
  auto result = NewArray<std::uint8_t>(batch.ShapeOf({}));
  const std::span<std::uint8_t> players(result.data(), batch.size());
  WithoutGil(puzzle, batch.size(), [&](std::size_t first, std::size_t size) {
    game.Players(batch.rows().Slice(first, size), players.subspan(first, size));
  });
  return result;
}

Array<std::uint8_t> Outcomes(const Puzzle& puzzle, nb::handle states) {
  const GameDomain& game = RulesOf(puzzle);
  const StateBatch batch(states, StateSize(puzzle));
  std::vector<Outcome> outcomes(batch.size());
  WithoutGil(puzzle, batch.size(), [&](std::size_t first, std::size_t size) {
    game.Outcomes(batch.rows().Slice(first, size), std::span(outcomes).subspan(first, size));
  });
  auto result = NewArray<std::uint8_t>(batch.ShapeOf({}));
  std::ranges::transform(outcomes, result.data(),
                         [](Outcome outcome) { return static_cast<std::uint8_t>(outcome); });
  return result;
}

Array<std::uint8_t> EncodeStates(const Puzzle& puzzle, nb::handle states) {
  const StateBatch batch(states, StateSize(puzzle));
  const auto positions = static_cast<std::size_t>(puzzle.spec().input.positions);
  auto inputs = NewArray<std::uint8_t>(batch.ShapeOf({positions}));
  const Rows rows = RowsOf(inputs, batch.size(), positions);
  WithoutGil(puzzle, batch.size(), [&](std::size_t first, std::size_t size) {
    EncodeChecked(*puzzle.domain, batch.rows().Slice(first, size), rows.Slice(first, size));
  });
  return inputs;
}

Array<std::uint8_t> ParseText(const Puzzle& puzzle, const std::string& text) {
  auto state = NewArray<std::uint8_t>({StateSize(puzzle)});
  {
    const nb::gil_scoped_release release;
    puzzle.domain->ParseState(text, {state.data(), StateSize(puzzle)});
  }
  if (const std::string reading = puzzle.domain->Reading(text); !reading.empty()) {
    if (PyErr_WarnEx(PyExc_UserWarning, reading.c_str(), 1) != 0) throw nb::python_error();
  }
  return state;
}

void CheckBatch(const Puzzle& puzzle, const StateBatch& batch) {
  const nb::gil_scoped_release release;
  CheckStates(*puzzle.domain, batch.rows());
}

void CheckAll(const Puzzle& puzzle, nb::handle states) {
  CheckBatch(puzzle, StateBatch(states, StateSize(puzzle)));
}

// Returns what write(state) makes of one state. Throws InputError if the bytes are not a state.
template <class Write>
auto OfOne(const Puzzle& puzzle, nb::handle state, const Write& write) {
  const StateBatch batch(state, StateSize(puzzle), "state");
  if (batch.size() != 1) {
    throw InputError(fmt::format("state: found {} states, expected one", batch.size()));
  }
  const nb::gil_scoped_release release;
  CheckStates(*puzzle.domain, batch.rows(), "state");
  return write(batch.rows()[0]);
}

std::string Format(const Puzzle& puzzle, nb::handle state) {
  return OfOne(puzzle, state, [&](auto row) { return puzzle.domain->FormatState(row); });
}

std::string Svg(const Puzzle& puzzle, nb::handle state) {
  return OfOne(puzzle, state, [&](auto row) { return ToSvg(puzzle.domain->Draw(row)); });
}

std::string Text(const Puzzle& puzzle, nb::handle state, bool colour) {
  return OfOne(puzzle, state,
               [&](auto row) { return ToTerminal(puzzle.domain->Draw(row), colour); });
}

Array<std::uint8_t> RenderStates(const Puzzle& puzzle, nb::handle states, int scale) {
  const StateBatch batch(states, StateSize(puzzle));
  if (scale < 1 || scale > 256) {
    throw InputError(fmt::format("scale: found {}, expected 1 to 256", scale));
  }
  CheckBatch(puzzle, batch);
  std::vector<Picture> pictures(batch.size());
  WithoutGil(puzzle, batch.size(), [&](std::size_t first, std::size_t size) {
    for (std::size_t i = first; i < first + size; ++i) {
      pictures[i] = puzzle.domain->Draw(batch.rows()[i]);
    }
  });
  const ImageSize image = SizeOf(pictures, scale);
  auto pixels = NewArray<std::uint8_t>(batch.ShapeOf({image.height, image.width, 3}));
  const Rows rows = RowsOf(pixels, batch.size(), image.height * image.width * 3);
  WithoutGil(puzzle, batch.size(), [&](std::size_t first, std::size_t size) {
    for (std::size_t i = first; i < first + size; ++i) {
      Paint(pictures[i], scale, image, rows[i]);
    }
  });
  return pixels;
}

std::vector<Action> Actions(const Puzzle& puzzle, const std::string& moves) {
  return puzzle.domain->ParseMoves(moves, "");
}

std::vector<std::pair<std::string, std::string>> Check(const Puzzle& puzzle, std::size_t states) {
  const nb::gil_scoped_release release;
  std::vector<std::pair<std::string, std::string>> broken;
  for (DomainCheck& check : BrokenPromises(*puzzle.domain, {.states = states})) {
    broken.emplace_back(std::move(check.promise), std::move(check.broken));
  }
  return broken;
}

std::optional<std::pair<int, int>> Board(const Puzzle& puzzle) {
  if (!puzzle.spec().board) return std::nullopt;
  return std::pair(puzzle.spec().board->rows, puzzle.spec().board->columns);
}

void BindProperties(nb::class_<Puzzle>& domain) {
  domain
      .def_prop_ro(
          "name", [](const Puzzle& p) { return p.spec().name; },
          "Name, with its argument: \"npuzzle:4\".")
      .def_prop_ro(
          "summary", [](const Puzzle& p) { return p.spec().summary; }, "One line of description.")
      .def_prop_ro(
          "identity", [](const Puzzle& p) { return p.spec().identity(); },
          "Label of weights and examples: the name and a version of the rules.")
      .def_prop_ro(
          "state_size", [](const Puzzle& p) { return p.spec().state_size; }, "Bytes per state.")
      .def_prop_ro(
          "input_shape",
          [](const Puzzle& p) { return std::pair(p.spec().input.positions, p.spec().input.depth); },
          "(positions, depth): the network reads `positions` numbers, each below `depth`, one-hot.")
      .def_prop_ro("board", &Board, "(rows, columns) if the input is a board, else None.")
      .def_prop_ro(
          "num_actions", [](const Puzzle& p) { return p.spec().num_actions(); },
          "Number of actions.")
      .def_prop_ro(
          "action_names", [](const Puzzle& p) { return p.spec().action_names; },
          "Names of the actions, in their order.")
      .def_prop_ro(
          "action_costs", [](const Puzzle& p) { return p.spec().action_costs; },
          "Cost of each action.")
      .def_prop_ro(
          "inverse_actions", [](const Puzzle& p) { return p.spec().inverse_actions; },
          "The action that undoes each action; empty if some action has no inverse.");
}

void BindBatches(nb::class_<Puzzle>& domain) {
  domain
      .def("goals", &Goals, nb::arg("count") = 1, nb::arg("seed") = 0,
           "Returns `count` goal states, uint8 of shape (count, state_size).\n\n"
           "If each problem has its own goal, as in Sokoban, they are drawn by `seed`.")
      .def(
          "scramble", &ScrambleStates, nb::arg("count"), nb::arg("length"), nb::arg("seed") = 0,
          nb::sig("def scramble(self, count: int, length: int | numpy.typing.ArrayLike, seed: int "
                  "= 0) -> numpy.typing.NDArray[numpy.uint8]"),
          "Returns the ends of `count` random walks from goals, uint8 of shape (count, "
          "state_size).\n\n"
          "`length` is the number of steps: one number, or one for each walk. A walk does not step "
          "straight back.\nState i depends on `seed`, i and its length only.")
      .def("apply", &ApplyActions, nb::arg("states"), nb::arg("actions"),
           nb::sig("def apply(self, states: numpy.typing.ArrayLike, actions: int | "
                   "numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.uint8]"),
           "Returns the states after an action each, in an array of the same shape.\n\n"
           "`actions` is one action for all states, or one for each. An action that does not apply "
           "leaves its state unchanged.")
      .def("play", &Play, nb::arg("states"), nb::arg("moves"),
           nb::sig("def play(self, states: numpy.typing.ArrayLike, moves: str) -> "
                   "numpy.typing.NDArray[numpy.uint8]"),
           "Returns the states after a sequence of moves, such as \"R U R'\", in an array of the "
           "same shape.")
      .def("expand", &ExpandStates, nb::arg("states"),
           nb::sig("def expand(self, states: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.uint8]"),
           "Returns the children of all states, uint8 of shape (n, num_actions, state_size).")
      .def("applicable", &Applicable, nb::arg("states"),
           nb::sig("def applicable(self, states: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.bool_]"),
           "Returns which actions apply, bool of shape (n, num_actions).")
      .def("is_goal", &AreGoals, nb::arg("states"),
           nb::sig("def is_goal(self, states: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.bool_]"),
           "Returns which states are goals, bool of shape (n,).")
      .def("players", &Players, nb::arg("states"),
           nb::sig("def players(self, states: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.uint8]"),
           "Returns whose turn it is in each state of a game, 0 or 1, of shape (n,).")
      .def(
          "outcomes", &Outcomes, nb::arg("states"),
          nb::sig("def outcomes(self, states: numpy.typing.ArrayLike) -> "
                  "numpy.typing.NDArray[numpy.uint8]"),
          "Returns how each state of a game stands for the player whose turn it is, or would be: 0 "
          "while the game\ngoes on, 1 for a loss, 2 for a draw and 3 for a win, of shape (n,).")
      .def("encode", &EncodeStates, nb::arg("states"),
           nb::sig("def encode(self, states: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.uint8]"),
           "Returns what the network reads, uint8 of shape (n, positions); see `input_shape`.")
      .def("check_states", &CheckAll, nb::arg("states"),
           nb::sig("def check_states(self, states: numpy.typing.ArrayLike) -> None"),
           "Raises ValueError that names the first row that is not a state of the puzzle, and says "
           "why.\n\n"
           "A state is what `parse` accepts. Check states from elsewhere once: `apply`, `expand`, "
           "`encode` and others do\nnot check the bytes, and return arbitrary results for wrong "
           "ones.")
      .def("render", &RenderStates, nb::arg("states"), nb::arg("scale") = 16,
           nb::sig("def render(self, states: numpy.typing.ArrayLike, scale: int = 16) -> "
                   "numpy.typing.NDArray[numpy.uint8]"),
           "Returns pictures of the states, uint8 of shape (n, height, width, 3), red, green and "
           "blue.\n\n"
           "A unit square has `scale` x `scale` pixels. Texts are not drawn: a cell with a text "
           "and without a\ncolour gets a shade that depends on the text. `svg` draws texts too. "
           "Raises ValueError if some row is\nnot a state; see `check_states`.");
}

void BindTexts(nb::class_<Puzzle>& domain) {
  domain
      .def("parse", &ParseText, nb::arg("text"),
           "Reads a state from text and returns it, uint8 of shape (state_size,).\n\n"
           "Raises ValueError that says what was found and what was expected. Warns if the\n"
           "text could also mean a state with another goal, and says how it was read.")
      .def("format", &Format, nb::arg("state"),
           nb::sig("def format(self, state: numpy.typing.ArrayLike) -> str"),
           "Returns a state as text that `parse` reads.")
      .def("parse_actions", &Actions, nb::arg("moves"),
           "Returns the indices of the actions in a text such as \"R U R'\".")
      .def("svg", &Svg, nb::arg("state"),
           nb::sig("def svg(self, state: numpy.typing.ArrayLike) -> str"),
           "Returns a picture of a state as an SVG document.")
      .def("text", &Text, nb::arg("state"), nb::arg("colour") = false,
           nb::sig("def text(self, state: numpy.typing.ArrayLike, colour: bool = False) -> str"),
           "Returns a picture of a state as lines of text, with ANSI colours if `colour`.")
      .def("check", &Check, nb::arg("states") = 300,
           "Checks the promises of a domain on sampled states.\n\n"
           "Returns the broken ones as pairs (promise, the state and action that break it).")
      .def("__repr__", [](const Puzzle& puzzle) {
        return fmt::format("tandem.Domain('{}')", puzzle.spec().name);
      });
}

// Says why bytes are not a state; "" if they are one.
std::string WhyNoState(const Domain& domain, std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> parsed(bytes.size());
  try {
    domain.ParseState(domain.FormatState(bytes), parsed);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {  // a puzzle in Python may fail in other ways than InputError
    return error.what();
  }
  if (std::ranges::equal(parsed, bytes)) return "";
  return fmt::format("found the bytes {}, whose text means the bytes {}", FormatNumbers(bytes),
                     FormatNumbers(parsed));
}

}  // namespace

void CheckStates(const Domain& domain, ConstRows states, const char* what) {
  std::mutex mutex;
  std::size_t wrong = states.size();  // the first wrong row found so far
  std::string why;
  SignalCheck signals;
  ForRows(signals, domain.spec(), states.size(), [&](std::size_t first, std::size_t size) {
    for (std::size_t i = first; i < first + size; ++i) {
      std::string found = WhyNoState(domain, states[i]);
      if (found.empty()) continue;
      const std::lock_guard lock(mutex);
      if (i < wrong) std::tie(wrong, why) = std::pair(i, std::move(found));
      return;
    }
  });
  if (wrong == states.size()) return;
  throw InputError(
      fmt::format("{}: row {} is not a state of {}: {}", what, wrong, domain.spec().name, why));
}

void EncodeChecked(const Domain& domain, ConstRows states, Rows inputs) {
  domain.Encode(states, inputs);
  const int depth = domain.spec().input.depth;
  const auto wrong =
      std::ranges::find_if(inputs.bytes(), [&](std::uint8_t value) { return value >= depth; });
  if (wrong == inputs.bytes().end()) return;
  throw InputError(fmt::format(
      "domain '{}': a state is encoded with the number {}, expected less than {}. Pass states that "
      "the domain made: by goals, scramble, apply, expand or parse.",
      domain.spec().name, *wrong, depth));
}

void BindDomain(nb::module_& module) {
  module.def("domain_names", &DomainNames, "Returns the names that tandem.Domain accepts.");
  module.def("load_plugin", &LoadPlugin, nb::arg("file"),
             "Loads the puzzles of a plug-in, a shared library, and returns their names.\n\n"
             "tandem.Domain and configs then accept the names. Raises ValueError if the file is no "
             "plug-in for this version.");
  nb::class_<Puzzle> domain(
      module, "Domain",
      "A puzzle: its states, actions and goals, on batches of states.\n\n"
      "A state is `state_size` bytes. Every method that takes `states` takes an array of uint8 of "
      "shape (n, state_size), or\none state of shape (state_size,), for which the first axis is "
      "missing in the result too. Results are new NumPy arrays\n(torch.from_numpy and "
      "torch.from_dlpack share their memory). Methods raise ValueError for arrays of another shape "
      "or\ntype. They use all cores and release the GIL. States must come from the same domain; "
      "`check_states` checks them.");
  domain.def(
      "__init__",
      [](Puzzle* self, const std::string& name) { new (self) Puzzle(MakePuzzle(name)); },
      nb::arg("name"),
      "Creates a domain from NAME or NAME:ARGUMENT, such as \"cube3\" or \"npuzzle:4\".\n\n"
      "Raises ValueError if there is no domain of that name.");
  BindProperties(domain);
  BindBatches(domain);
  BindTexts(domain);
}

}  // namespace tandem::python
