// A puzzle, as Tandem sees it: states of a fixed number of bytes, and actions on batches of them.
#pragma once

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

/// The number of an action, 0 <= action < DomainSpec::num_actions().
using Action = std::uint16_t;

/// What a network reads of a state: `positions` bytes, each below `depth`, given to it one-hot
/// (positions x depth features, feature depth * p + value).
struct InputLayout {
  int positions = 0;
  int depth = 0;
};

/// The facts about a puzzle that never change.
struct DomainSpec {
  std::string name;     ///< letters, digits and '_'; with a parameter, NAME:ARGUMENT
  std::string summary;  ///< one line for people
  std::string rules;    ///< tells those apart that had the same name: a hash of the file that they
                        ///< are in, or a version; may be empty
  int state_size = 0;   ///< bytes of one state
  InputLayout input;

  std::vector<std::string> action_names;  ///< by action; the notation of solutions
  std::vector<Action> inverse_actions;    ///< by action; wherever action a applies,
                                          ///< inverse_actions[a] applies after it and undoes it;
                                          ///< empty if some action cannot be undone: see StepBack
  std::vector<float> action_costs;        ///< by action, the transition cost, above 0; if none are
                                          ///< given, 1 each
  bool masks_actions = false;             ///< some action does not apply in some state: see Mask
  bool goals_by_problem = false;          ///< each problem has a goal of its own: see DrawGoals
  bool several_lines = false;             ///< the text of a state may have more than one line

  int num_actions() const { return static_cast<int>(action_names.size()); }

  /// What examples and weights are labelled with: where it is equal, so are states and moves.
  std::string identity() const { return rules.empty() ? name : name + "@" + rules; }
};

/// A puzzle's behaviour. Implementations are immutable: every method is const and may be called
/// from any number of threads at once. Nothing here allocates per state except the text methods.
///
/// An action that does not apply in a state leaves it as it is and costs what it always costs, so
/// no one need know the masks: a solution through such an action is only longer than it need be.
///
/// Any method may throw, also in several threads at once, and should throw only where it cannot go
/// on: an action that does not apply is no failure. An exception ends the work that called the
/// method, and its message is reported: `tandem train` saves the state before the current update
/// and exits with 1. What the method has written by then is never read, and the domain may be
/// called again. Exceptions derive from std::exception; others are caught, but say nothing of their
/// cause.
///
/// Row sizes: `states` and `children` have spec().state_size bytes a row, `inputs` have
/// spec().input.positions.
class Domain {
 public:
  virtual ~Domain() = default;
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  const DomainSpec& spec() const { return spec_; }

  /// Writes the same goal state into every row: the goal, or that of an example of a problem.
  virtual void WriteGoals(Rows states) const = 0;

  /// Writes into row i the goal state of a problem drawn by seeds[i], such as a maze with the
  /// walker at its exit; states reached from there are states of that problem. The default is
  /// WriteGoals; a domain that overrides it says so with spec().goals_by_problem.
  virtual void DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const;

  /// Applies actions[i] to row i, in place. Requires actions.size() == states.size().
  virtual void Apply(Rows states, std::span<const Action> actions) const = 0;

  /// Writes what each action makes of each state: row i * num_actions + a of `children` is action
  /// a applied to row i of `states`, a copy of it where the action does not apply. The default
  /// copies and calls Apply.
  virtual void Expand(ConstRows states, Rows children) const;

  /// Sets applies[i * num_actions + a] to 1 where action a applies to row i, else to 0. The default
  /// sets all to 1; a domain that overrides it says so with spec().masks_actions, and callers may
  /// skip the call where that is false.
  virtual void Mask(ConstRows states, std::span<std::uint8_t> applies) const;

  /// Replaces `state` by one, drawn by `random`, from which a single action leads to it, and
  /// returns that action; where there is none, leaves it and returns nothing. Called only where
  /// spec().inverse_actions is empty, where it must be overridden: elsewhere inverses lead back.
  virtual std::optional<Action> StepBack(std::span<std::uint8_t> state, std::uint64_t random) const;

  /// Sets is_goal[i] to 1 where row i is a goal, else 0.
  virtual void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const = 0;

  /// Writes what the network reads. The default copies the state, and so requires
  /// spec().input.positions == spec().state_size.
  virtual void Encode(ConstRows states, Rows inputs) const;

  /// Reads a state from text. Throws InputError that names what was found and what was expected.
  virtual void ParseState(std::string_view text, std::span<std::uint8_t> state) const = 0;

  /// The inverse of ParseState.
  virtual std::string FormatState(std::span<const std::uint8_t> state) const = 0;

  /// A picture for terminals and SVG. The default shows FormatState, word by word.
  virtual Picture Draw(std::span<const std::uint8_t> state) const;

 protected:
  /// Throws Error if the facts contradict each other.
  explicit Domain(DomainSpec spec);

 private:
  DomainSpec spec_;
};

/// Of one state.
bool IsGoal(const Domain& domain, std::span<const std::uint8_t> state);

/// Actions as text in the domain's notation, separated by spaces.
std::string FormatActions(const DomainSpec& spec, std::span<const Action> actions);

/// The inverse of FormatActions. Throws InputError that names the first unknown action.
std::vector<Action> ParseActions(const DomainSpec& spec, std::string_view text);

}  // namespace tandem
