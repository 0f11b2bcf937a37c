// The interface of a puzzle: states of a fixed number of bytes, and actions on batches of states.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/picture.h"
#include "tandem/rows.h"

namespace tandem {

/// The index of an action, 0 <= action < DomainSpec::num_actions().
using Action = std::uint16_t;

/// InputLayout describes the network's input for one state: `positions` bytes, each below `depth`.
/// The network gets them one-hot encoded, as positions x depth features; value v at position p sets
/// feature depth * p + v.
struct InputLayout {
  int positions = 0;
  int depth = 0;
};

/// BoardShape says that the positions of an InputLayout are the cells of a board: position p is the
/// cell in row p / columns and column p % columns.
struct BoardShape {
  int rows = 0;
  int columns = 0;

  int cells() const { return rows * columns; }
};

/// The least and the greatest cost of an action. Far beyond them, squares of costs overflow a
/// float, and training ends in NaN.
inline constexpr float kLeastActionCost = 1e-6F;
inline constexpr float kMostActionCost = 1e6F;

/// DomainSpec holds the constant properties of a puzzle.
struct DomainSpec {
  std::string name;     ///< letters, digits and '_'; NAME:ARGUMENT if the puzzle has a parameter
  std::string summary;  ///< one line for people
  std::string version;  ///< changes if the states or moves behind the name change: for example a
                        ///< number, or a hash of the file that defines the puzzle; may be empty
  int state_size = 0;   ///< bytes per state
  InputLayout input;
  std::optional<BoardShape> board;  ///< if the input is a board, which some networks need

  std::vector<std::string> action_names;  ///< one per action; solutions are written in them
  std::vector<Action> inverse_actions;    ///< one per action: if action a applies,
                                          ///< inverse_actions[a] applies after it and undoes it;
                                          ///< empty if some action has no inverse: see StepBack
  std::vector<float> action_costs;        ///< one per action: the transition cost,
                                          ///< kLeastActionCost to kMostActionCost; may be left
                                          ///< empty if every action costs 1; Domain::spec() then
                                          ///< returns a 1 for each action
  bool masks_actions = false;             ///< some action does not apply in some state: see Mask
  bool per_problem_goals = false;         ///< each problem has its own goal: see DrawGoals
  bool moves_goals = false;               ///< a problem's goal can be moved: see MoveGoals
  bool multiline_states = false;          ///< the text of a state may have more than one line
  std::size_t least_batch = 1;  ///< calls with fewer rows take about as long as calls with
                                ///< this many, as calls of Python do; callers then pass
                                ///< more rows at a time, on fewer threads

  int num_actions() const { return static_cast<int>(action_names.size()); }

  /// The number of rows for a task that usually has `rows`. Parallel loops may halve a task.
  std::size_t TaskRows(std::size_t rows) const {
    return least_batch == 1 ? rows : std::max(rows, 4 * least_batch);
  }

  /// The label of examples and weights. Two puzzles with equal identities have the same states and
  /// moves.
  std::string identity() const { return version.empty() ? name : name + "@" + version; }
};

/// Domain is the behaviour of a puzzle. Implementations are immutable: every method is const and
/// may be called from any number of threads at once. Methods must not allocate memory per state,
/// except those that read or write text or pictures.
///
/// An action that does not apply in a state leaves the state unchanged and still has its usual
/// cost. Callers can therefore ignore masks: a solution with such an action is valid, only longer
/// than necessary.
///
/// A batch may have no rows.
///
/// Any method may throw, also in several threads at once, but should do so only if it cannot go on;
/// an action that does not apply is not an error. An exception ends the work that called the
/// method, and its message is reported: `tandem train` saves the state before the current update
/// and exits with code 1. Whatever the method had written by then is never read, and the domain may
/// be called again. Exceptions should derive from std::exception; others are caught too, but have
/// no message.
///
/// Row sizes: `states` and `children` have spec().state_size bytes per row; `inputs` has
/// spec().input.positions bytes per row. Rows may begin at any address. `seeds`, `randoms`,
/// `actions` and `is_goal` have one element for each row.
class Domain {
 public:
  virtual ~Domain() = default;
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  const DomainSpec& spec() const { return spec_; }

  /// Writes the same goal state to every row: the puzzle's goal or, if spec().per_problem_goals,
  /// the goal of an example problem.
  virtual void WriteGoals(Rows states) const = 0;

  /// Writes to row i a goal state of a random problem that depends on seeds[i] only, such as a maze
  /// with the walker at its exit. All states reachable from it belong to that problem. The default
  /// calls WriteGoals. A domain that overrides this must set spec().per_problem_goals.
  virtual void DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const;

  /// Appends the goals of one problem to `goals`, one row each. `goal` is one of them, and comes
  /// from DrawGoals or WriteGoals. A goal may be appended more than once. The default appends
  /// `goal` alone. A domain whose problems have several goals must override this if Predecessors
  /// works for it, by spec().inverse_actions or by an override.
  virtual void AllGoals(std::span<const std::uint8_t> goal, std::vector<std::uint8_t>& goals) const;

  /// Applies actions[i] to row i, in place.
  virtual void Apply(Rows states, std::span<const Action> actions) const = 0;

  /// Writes the children of all states: row i * num_actions + a of `children` is the result of
  /// action a in row i of `states`, or a copy of row i if the action does not apply. The default
  /// copies the states and calls Apply.
  virtual void Expand(ConstRows states, Rows children) const;

  /// Sets applies[i * num_actions + a] to 1 if action a applies to row i, else to 0. The default
  /// sets all to 1. A domain that overrides this must set spec().masks_actions; callers may skip
  /// the call if that is false.
  virtual void Mask(ConstRows states, std::span<std::uint8_t> applies) const;

  /// Replaces row i with a predecessor, chosen by randoms[i], and sets actions[i] to the action
  /// that leads from the predecessor to the state before. If there is no predecessor, leaves the
  /// row unchanged and sets actions[i] to nothing. Called only if spec().inverse_actions is empty;
  /// then it must be overridden.
  virtual void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                        std::span<std::optional<Action>> actions) const;

  /// Appends the predecessors of row 0 to `predecessors`, one row each, then those of row 1, and so
  /// on: the other states from which some action leads to the row. A state may be appended more
  /// than once. Returns false, and appends nothing, if the domain cannot tell. The default takes
  /// actions back by their inverses, and returns false if spec().inverse_actions is empty. Training
  /// uses it to search backwards from goals (generate.target: retrograde).
  virtual bool Predecessors(ConstRows states, std::vector<std::uint8_t>& predecessors) const;

  /// Gives all rows, which are states of one problem, the goal that `reached`, another state of the
  /// problem, meets: after the call, `reached` with the same goal would be a goal. Everything else
  /// about the states stays, and actions lead to the same states as before. `reached` is not one of
  /// the rows. Called only if spec().moves_goals; then it must be overridden. Training uses it to
  /// learn from searches that reached no goal (generate.hindsight).
  virtual void MoveGoals(Rows states, std::span<const std::uint8_t> reached) const;

  /// Sets is_goal[i] to 1 if row i is a goal, else to 0.
  virtual void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const = 0;

  /// Writes the network's input for each state. The default copies the state, and throws Error
  /// unless spec().input.positions == spec().state_size.
  virtual void Encode(ConstRows states, Rows inputs) const;

  /// Reads a state from text. Throws InputError that says what was found and what was expected.
  virtual void ParseState(std::string_view text, std::span<std::uint8_t> state) const = 0;

  /// Writes a state as text that ParseState reads. Other bytes should give text that it rejects.
  virtual std::string FormatState(std::span<const std::uint8_t> state) const = 0;

  /// Draws a picture of a state, for terminals and SVG. The default shows the words of FormatState.
  virtual Picture Draw(std::span<const std::uint8_t> state) const;

  /// Reads moves from text. `start` is the text of the state that they begin in, or "" if that
  /// state was not written by a person; names of moves may depend on how its text shows the puzzle.
  /// Throws InputError that names the first unknown move. The default calls ParseActions.
  virtual std::vector<Action> ParseMoves(std::string_view moves, std::string_view start) const;

  /// Writes moves as ParseMoves reads them. `start`, a text that ParseState accepts, is the state
  /// that they begin in. The default calls FormatActions.
  virtual std::string FormatMoves(std::span<const Action> actions, std::string_view start) const;

  /// Says how ParseState understands `text`, a valid state, if it could also mean something else,
  /// such as a state with another goal. Returns "" if it could not, as the default does.
  virtual std::string Reading(std::string_view text) const;

  /// Whether a line of a file can belong to the text of a state, if spec().multiline_states. Other
  /// lines are titles and comments between states. The default returns false for lines that begin
  /// with ';'.
  virtual bool IsStateLine(std::string_view line) const;

 protected:
  /// Throws Error if `spec` contradicts itself.
  explicit Domain(DomainSpec spec);

 private:
  void ApplyToCopies(ConstRows states, std::span<const Action> actions, Rows results) const;

  DomainSpec spec_;
};

/// Whether one state is a goal.
bool IsGoal(const Domain& domain, std::span<const std::uint8_t> state);

/// Writes actions as text: their names, separated by spaces.
std::string FormatActions(const DomainSpec& spec, std::span<const Action> actions);

/// Reads actions from text as FormatActions writes it. Throws InputError that names the first
/// unknown action.
std::vector<Action> ParseActions(const DomainSpec& spec, std::string_view text);

}  // namespace tandem
