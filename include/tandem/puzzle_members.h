// Compile-time checks of the members of a puzzle struct against the list in puzzle.h. Without them,
// a member with a wrong signature would be ignored silently. With them, it does not compile, and
// the message says what was expected.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tandem/domain.h"
#include "tandem/picture.h"

namespace tandem::puzzle_members {

/// The names of the optional members, of methods of Domain that a struct must not have, and of
/// common misspellings of the optional members.
struct Names {
  void ActionName(), Cost(), Inverse(), StepBack(), Validate(), Format(), Parse(), Draw();
  void kSummary(), kVersion(), kBoard();
  void Encode(), Expand(), Mask(), MoveGoals(), AllGoals(), Predecessors();
  void actionName(), action_name(), Actionname(), ActionNames(), MoveName();
  void cost(), Costs(), ActionCost(), ActionCosts(), kCost(), kCosts();
  void inverse(), Inverses(), InverseAction(), InverseOf();
  void stepBack(), step_back(), Stepback(), StepsBack(), StepBackward(), StepBackwards();
  void validate(), Fault(), IsValid(), kRules();
  void format(), FormatState(), ToString();
  void parse(), ParseState(), FromString();
  void draw(), DrawState();
  void Summary(), summary(), kSumary(), kSummery();
  void Rules(), rules(), kRule();
  void DrawGoal(), DrawGoals(), Goals();
};

/// Both<P>::name is ambiguous, and so does not compile, exactly if P has a member of that name: a
/// function, overloaded or not, or anything else.
template <class P>
struct Both : P, Names {};

/// A final struct cannot be a base class, so members that cannot be called go unnoticed in it.
template <class P>
requires std::is_final_v<P>
struct Both<P> : Names {
};

// Checks one optional member. The last macro arguments are the arguments of a call.
#define TANDEM_PUZZLE_MEMBER(Result, name, parameters, ...)              \
  static_assert(                                                         \
      !requires(P puzzle) { puzzle.name(__VA_ARGS__); } ||               \
          requires(const P puzzle) { puzzle.name(__VA_ARGS__); },        \
      "the puzzle's " #name                                              \
      " is neither static nor const, but many threads call it: "         \
      "expected `" #Result " " #name parameters "`, static or const");   \
  static_assert(                                                         \
      requires { &Both<P>::name; } ||                                    \
          requires(P puzzle) {                                           \
            { puzzle.name(__VA_ARGS__) } -> std::convertible_to<Result>; \
          },                                                             \
      "the puzzle's " #name                                              \
      " has the wrong signature: expected "                              \
      "`" #Result " " #name parameters "`")

// Checks that the struct has no member with the name of this method of Domain.
#define TANDEM_NO_PUZZLE_MEMBER(name, instead)                                     \
  static_assert(                                                                   \
      requires { &Both<P>::name; },                                                \
      "the puzzle has " #name ", which Tandem does not call on a struct: " instead \
      ", or write a Domain (tandem/domain.h)")

// Checks that the struct has no `misspelt`, which was probably meant to be `name`. A struct that
// also has `name` may use `misspelt` as it likes.
#define TANDEM_PUZZLE_MISSPELLING(misspelt, name)                                \
  static_assert(                                                                 \
      requires { &Both<P>::misspelt; } || !requires { &Both<P>::name; },         \
      "the puzzle has " #misspelt ", which Tandem does not use: expected " #name \
      " (tandem/puzzle.h lists the members); if it is not a misspelling, give "  \
      "it another name")

/// Checked<P> compiles only if every member of P with one of these names has the right signature.
template <class P>
struct Checked {
  using State = typename P::State;
  using Applied = decltype(std::declval<const P&>().Apply(std::declval<State&>(), 0));

  static_assert(std::is_void_v<Applied> || std::same_as<Applied, bool>,
                "the puzzle's Apply returns neither void nor bool: expected `void Apply(State& "
                "state, int action)`, or bool, false where the action does not apply");
  static_assert(
      !requires(const P puzzle) { puzzle.Apply(State{}, 0); },
      "the puzzle's Apply takes the state by value, so it changes nothing: expected "
      "`State& state`");
  static_assert(
      !requires(const P puzzle) { puzzle.StepBack(State{}, std::declval<std::uint64_t>()); },
      "the puzzle's StepBack takes the state by value, so it changes nothing: expected "
      "`State& state`");
  static_assert(
      !requires(P puzzle) { puzzle.Goal(std::declval<std::uint64_t>()); } ||
          requires(const P puzzle) { puzzle.Goal(std::declval<std::uint64_t>()); },
      "the puzzle's Goal of a seed is neither static nor const, but many threads call "
      "it: expected `State Goal(std::uint64_t seed)`, static or const");
  static_assert(
      requires { &P::Goal; } || requires(P puzzle) { puzzle.Goal(std::declval<std::uint64_t>()); },
      "the puzzle has a second Goal, which Tandem does not call: expected `State "
      "Goal(std::uint64_t seed)`, the goal of the problem drawn by `seed`");

  TANDEM_PUZZLE_MEMBER(std::string, ActionName, "(int action)", std::declval<int>());
  TANDEM_PUZZLE_MEMBER(float, Cost, "(int action)", std::declval<int>());
  TANDEM_PUZZLE_MEMBER(int, Inverse, "(int action)", std::declval<int>());
  TANDEM_PUZZLE_MEMBER(std::optional<int>, StepBack, "(State& state, std::uint64_t random)",
                       std::declval<State&>(), std::declval<std::uint64_t>());
  TANDEM_PUZZLE_MEMBER(std::string, Validate, "(const State& state)", std::declval<const State&>());
  TANDEM_PUZZLE_MEMBER(std::string, Format, "(const State& state)", std::declval<const State&>());
  TANDEM_PUZZLE_MEMBER(State, Parse, "(std::string_view text)", std::string_view());
  TANDEM_PUZZLE_MEMBER(Picture, Draw, "(const State& state)", std::declval<const State&>());
  TANDEM_NO_PUZZLE_MEMBER(Encode, "the network reads the bytes of State; give it another name");
  TANDEM_NO_PUZZLE_MEMBER(Expand, "it calls Apply; give it another name");
  TANDEM_NO_PUZZLE_MEMBER(Mask, "Apply returns false where an action does not apply");
  TANDEM_NO_PUZZLE_MEMBER(MoveGoals, "structs cannot move goals; give it another name");
  TANDEM_NO_PUZZLE_MEMBER(AllGoals, "a problem of a struct has one goal; give it another name");
  TANDEM_NO_PUZZLE_MEMBER(Predecessors, "StepBack walks backwards; give it another name");

  static_assert(
      !requires { P::kSummary; } ||
          requires {
            { P::kSummary } -> std::convertible_to<std::string_view>;
          },
      "the puzzle's kSummary is not a string: expected `static constexpr const char* kSummary`");
  static_assert(
      !requires { P::kVersion; } ||
          requires {
            { P::kVersion } -> std::convertible_to<std::string_view>;
          },
      "the puzzle's kVersion is not a string: expected `static constexpr const char* kVersion`, "
      "such as \"2\"");
  static_assert(
      !requires { P::kBoard; } ||
          requires {
            { P::kBoard } -> std::convertible_to<BoardShape>;
          },
      "the puzzle's kBoard is not a shape: expected `static constexpr BoardShape kBoard`, such as "
      "{.rows = 4, .columns = 4}");

  TANDEM_PUZZLE_MISSPELLING(actionName, ActionName);
  TANDEM_PUZZLE_MISSPELLING(action_name, ActionName);
  TANDEM_PUZZLE_MISSPELLING(Actionname, ActionName);
  TANDEM_PUZZLE_MISSPELLING(ActionNames, ActionName);
  TANDEM_PUZZLE_MISSPELLING(MoveName, ActionName);
  TANDEM_PUZZLE_MISSPELLING(cost, Cost);
  TANDEM_PUZZLE_MISSPELLING(Costs, Cost);
  TANDEM_PUZZLE_MISSPELLING(ActionCost, Cost);
  TANDEM_PUZZLE_MISSPELLING(ActionCosts, Cost);
  TANDEM_PUZZLE_MISSPELLING(kCost, Cost);
  TANDEM_PUZZLE_MISSPELLING(kCosts, Cost);
  TANDEM_PUZZLE_MISSPELLING(inverse, Inverse);
  TANDEM_PUZZLE_MISSPELLING(Inverses, Inverse);
  TANDEM_PUZZLE_MISSPELLING(InverseAction, Inverse);
  TANDEM_PUZZLE_MISSPELLING(InverseOf, Inverse);
  TANDEM_PUZZLE_MISSPELLING(stepBack, StepBack);
  TANDEM_PUZZLE_MISSPELLING(step_back, StepBack);
  TANDEM_PUZZLE_MISSPELLING(Stepback, StepBack);
  TANDEM_PUZZLE_MISSPELLING(StepsBack, StepBack);
  TANDEM_PUZZLE_MISSPELLING(StepBackward, StepBack);
  TANDEM_PUZZLE_MISSPELLING(StepBackwards, StepBack);
  TANDEM_PUZZLE_MISSPELLING(validate, Validate);
  TANDEM_PUZZLE_MISSPELLING(Fault, Validate);
  TANDEM_PUZZLE_MISSPELLING(IsValid, Validate);
  TANDEM_PUZZLE_MISSPELLING(format, Format);
  TANDEM_PUZZLE_MISSPELLING(FormatState, Format);
  TANDEM_PUZZLE_MISSPELLING(ToString, Format);
  TANDEM_PUZZLE_MISSPELLING(parse, Parse);
  TANDEM_PUZZLE_MISSPELLING(ParseState, Parse);
  TANDEM_PUZZLE_MISSPELLING(FromString, Parse);
  TANDEM_PUZZLE_MISSPELLING(draw, Draw);
  TANDEM_PUZZLE_MISSPELLING(DrawState, Draw);
  TANDEM_PUZZLE_MISSPELLING(Summary, kSummary);
  TANDEM_PUZZLE_MISSPELLING(summary, kSummary);
  TANDEM_PUZZLE_MISSPELLING(kSumary, kSummary);
  TANDEM_PUZZLE_MISSPELLING(kSummery, kSummary);
  TANDEM_PUZZLE_MISSPELLING(kRules, kVersion);
  TANDEM_PUZZLE_MISSPELLING(Rules, kVersion);
  TANDEM_PUZZLE_MISSPELLING(rules, kVersion);
  TANDEM_PUZZLE_MISSPELLING(kRule, kVersion);
  static_assert(
      requires {
        &Both<P>::DrawGoal;
        &Both<P>::DrawGoals;
        &Both<P>::Goals;
      } || requires(const P puzzle) { puzzle.Goal(std::declval<std::uint64_t>()); },
      "the puzzle has DrawGoal, DrawGoals or Goals, which Tandem does not use: expected `State "
      "Goal(std::uint64_t seed)`, the goal of the problem drawn by `seed`");

  static constexpr bool kValid = true;
};

#undef TANDEM_PUZZLE_MEMBER
#undef TANDEM_PUZZLE_MISSPELLING
#undef TANDEM_NO_PUZZLE_MEMBER

}  // namespace tandem::puzzle_members
