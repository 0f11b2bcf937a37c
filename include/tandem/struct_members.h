// Compile-time checks of the members of a puzzle struct against the list in puzzle.h, and of a game
// struct against the one in game.h. Without them, a member with a wrong signature would be ignored
// silently. With them, it does not compile, and the message says what was expected.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tandem/domain.h"
#include "tandem/picture.h"

namespace tandem::struct_members {

// Common misspellings of the optional members, and what was meant: of all structs, of puzzles, and
// of games.
// clang-format off
#define TANDEM_MISSPELLINGS(M)                                                              \
  M(actionName, ActionName) M(action_name, ActionName) M(Actionname, ActionName)            \
  M(ActionNames, ActionName) M(MoveName, ActionName)                                        \
  M(validate, Validate) M(Fault, Validate) M(IsValid, Validate)                             \
  M(format, Format) M(FormatState, Format) M(ToString, Format)                              \
  M(parse, Parse) M(ParseState, Parse) M(FromString, Parse)                                 \
  M(draw, Draw) M(DrawState, Draw)                                                          \
  M(Summary, kSummary) M(summary, kSummary) M(kSumary, kSummary) M(kSummery, kSummary)
#define TANDEM_PUZZLE_MISSPELLINGS(M)                                                       \
  M(cost, Cost) M(Costs, Cost) M(ActionCost, Cost) M(ActionCosts, Cost) M(kCost, Cost)      \
  M(kCosts, Cost)                                                                           \
  M(inverse, Inverse) M(Inverses, Inverse) M(InverseAction, Inverse) M(InverseOf, Inverse)  \
  M(stepBack, StepBack) M(step_back, StepBack) M(Stepback, StepBack) M(StepsBack, StepBack) \
  M(StepBackward, StepBack) M(StepBackwards, StepBack)
#define TANDEM_GAME_MISSPELLINGS(M)                                                         \
  M(kInput, kInputs) M(kNumInputs, kInputs) M(Inputs, kInputs) M(encode, Encode)            \
  M(kSymmetry, kSymmetries) M(kNumSymmetries, kSymmetries) M(Symmetries, kSymmetries)       \
  M(image, Image) M(ActionImage, ImageOfAction) M(image_of_action, ImageOfAction)
// clang-format on

#define TANDEM_MEMBER_NAME(misspelt, name) void misspelt();
/// The names of the optional members, of their misspellings, and of methods of Domain that a struct
/// must not have.
struct Names {
  void ActionName(), Cost(), Inverse(), StepBack(), Validate(), Format(), Parse(), Draw();
  void kSummary(), kVersion(), kBoard();
  void Encode(), kInputs(), kSymmetries(), Image(), ImageOfAction();
  void Expand(), Mask(), MoveGoals(), AllGoals(), Predecessors();
  void DrawGoal(), DrawGoals(), Goals();
  TANDEM_MISSPELLINGS(TANDEM_MEMBER_NAME)
  TANDEM_PUZZLE_MISSPELLINGS(TANDEM_MEMBER_NAME)
  TANDEM_GAME_MISSPELLINGS(TANDEM_MEMBER_NAME)
};
#undef TANDEM_MEMBER_NAME

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
#define TANDEM_MEMBER(Result, name, parameters, ...)                   \
  static_assert(                                                       \
      !requires(P made) { made.name(__VA_ARGS__); } ||                 \
          requires(const P made) { made.name(__VA_ARGS__); },          \
      "the struct's " #name                                            \
      " is neither static nor const, but many threads call it: "       \
      "expected `" #Result " " #name parameters "`, static or const"); \
  static_assert(                                                       \
      requires { &Both<P>::name; } ||                                  \
          requires(P made) {                                           \
            { made.name(__VA_ARGS__) } -> std::convertible_to<Result>; \
          },                                                           \
      "the struct's " #name                                            \
      " has the wrong signature: expected "                            \
      "`" #Result " " #name parameters "`")

// Checks that the struct has no member with the name of this method of Domain.
#define TANDEM_NO_MEMBER(name, instead)                                            \
  static_assert(                                                                   \
      requires { &Both<P>::name; },                                                \
      "the struct has " #name ", which Tandem does not call on a struct: " instead \
      ", or write a Domain (tandem/domain.h)")

// Checks that the struct has no `misspelt`, which was probably meant to be `name`. A struct that
// also has `name` may use `misspelt` as it likes.
#define TANDEM_MISSPELLING(misspelt, name)                                                \
  static_assert(                                                                          \
      requires { &Both<P>::misspelt; } || !requires { &Both<P>::name; },                  \
      "the struct has " #misspelt ", which Tandem does not use: expected " #name          \
      " (tandem/puzzle.h and game.h list the members); if it is not a misspelling, give " \
      "it another name");

/// CheckedSizes<P> compiles only if P has the constants and the type that every struct needs.
template <class P>
struct CheckedSizes {
  static_assert(
      requires {
        { P::kActions } -> std::convertible_to<int>;
      },
      "kActions is missing: expected `static constexpr int kActions`");
  static_assert(
      requires {
        { P::kDepth } -> std::convertible_to<int>;
      },
      "kDepth is missing: expected `static constexpr int kDepth`");
  static_assert(
      requires { typename P::State; },
      "State is missing: expected `using State = std::array<std::uint8_t, SIZE>`");
  static constexpr bool kValid = true;
};

/// Checked<P> compiles only if the members that puzzle and game structs may both have are right in
/// P.
template <class P>
struct Checked {
  using State = typename P::State;

  TANDEM_MEMBER(std::string, ActionName, "(int action)", std::declval<int>());
  TANDEM_MEMBER(std::string, Validate, "(const State& state)", std::declval<const State&>());
  TANDEM_MEMBER(std::string, Format, "(const State& state)", std::declval<const State&>());
  TANDEM_MEMBER(State, Parse, "(std::string_view text)", std::string_view());
  TANDEM_MEMBER(Picture, Draw, "(const State& state)", std::declval<const State&>());

  static_assert(
      !requires { P::kSummary; } ||
          requires {
            { P::kSummary } -> std::convertible_to<std::string_view>;
          },
      "the struct's kSummary is not a string: expected `static constexpr const char* kSummary`");
  static_assert(
      !requires { P::kVersion; } ||
          requires {
            { P::kVersion } -> std::convertible_to<std::string_view>;
          },
      "the struct's kVersion is not a string: expected `static constexpr const char* kVersion`, "
      "such as \"2\"");
  static_assert(
      !requires { P::kBoard; } ||
          requires {
            { P::kBoard } -> std::convertible_to<BoardShape>;
          },
      "the struct's kBoard is not a shape: expected `static constexpr BoardShape kBoard`, such as "
      "{.rows = 4, .columns = 4}");

  TANDEM_MISSPELLINGS(TANDEM_MISSPELLING)

  static constexpr bool kValid = true;
};

/// CheckedPuzzle<P> compiles only if the members of a puzzle struct have the right signatures,
/// apart from those that Checked<P> checks.
template <class P>
struct CheckedPuzzle {
  using State = typename P::State;
  using Applied = decltype(std::declval<const P&>().Apply(std::declval<State&>(), 0));

  static_assert(std::is_void_v<Applied> || std::same_as<Applied, bool>,
                "the struct's Apply returns neither void nor bool: expected `void Apply(State& "
                "state, int action)`, or bool, false where the action does not apply");
  static_assert(
      !requires(const P made) { made.Apply(State{}, 0); },
      "the struct's Apply takes the state by value, so it changes nothing: expected "
      "`State& state`");
  static_assert(
      !requires(const P made) { made.StepBack(State{}, std::declval<std::uint64_t>()); },
      "the struct's StepBack takes the state by value, so it changes nothing: expected "
      "`State& state`");
  static_assert(
      !requires(P made) { made.Goal(std::declval<std::uint64_t>()); } ||
          requires(const P made) { made.Goal(std::declval<std::uint64_t>()); },
      "the struct's Goal of a seed is neither static nor const, but many threads call "
      "it: expected `State Goal(std::uint64_t seed)`, static or const");
  static_assert(
      requires { &P::Goal; } || requires(P made) { made.Goal(std::declval<std::uint64_t>()); },
      "the struct has a second Goal, which Tandem does not call: expected `State "
      "Goal(std::uint64_t seed)`, the goal of the problem drawn by `seed`");

  TANDEM_MEMBER(float, Cost, "(int action)", std::declval<int>());
  TANDEM_MEMBER(int, Inverse, "(int action)", std::declval<int>());
  TANDEM_MEMBER(std::optional<int>, StepBack, "(State& state, std::uint64_t random)",
                std::declval<State&>(), std::declval<std::uint64_t>());
  TANDEM_NO_MEMBER(Encode, "the network reads the bytes of State; give it another name");
  TANDEM_NO_MEMBER(Expand, "it calls Apply; give it another name");
  TANDEM_NO_MEMBER(Mask, "Apply returns false where an action does not apply");
  TANDEM_NO_MEMBER(MoveGoals, "structs cannot move goals; give it another name");
  TANDEM_NO_MEMBER(AllGoals, "a problem of a struct has one goal; give it another name");
  TANDEM_NO_MEMBER(Predecessors, "StepBack walks backwards; give it another name");

  TANDEM_PUZZLE_MISSPELLINGS(TANDEM_MISSPELLING)
  static_assert(
      requires {
        &Both<P>::DrawGoal;
        &Both<P>::DrawGoals;
        &Both<P>::Goals;
      } || requires(const P made) { made.Goal(std::declval<std::uint64_t>()); },
      "the struct has DrawGoal, DrawGoals or Goals, which Tandem does not use: expected `State "
      "Goal(std::uint64_t seed)`, the goal of the problem drawn by `seed`");

  static constexpr bool kValid = true;
};

/// CheckedGame<P> does this for a game struct.
template <class P>
struct CheckedGame {
  using State = typename P::State;
  static constexpr bool kHasInputs = requires { P::kInputs; };

  static_assert(
      kHasInputs || requires { &Both<P>::Encode; },
      "the struct has Encode without `static constexpr int kInputs`, the number of bytes that it "
      "writes");
  static_assert(
      !kHasInputs || requires(const P made, const State state,
                              std::uint8_t* input) { made.Encode(state, input); },
      "the struct's Encode cannot be called: expected `static void Encode(const State& state, "
      "std::uint8_t* input)`");
  static_assert(
      !requires { P::kSymmetries; } ||
          requires(const P made) {
            { made.Image(0, 0) } -> std::convertible_to<int>;
            { made.ImageOfAction(0, 0) } -> std::convertible_to<int>;
          },
      "the struct has kSymmetries: expected `static int Image(int symmetry, int position)` and "
      "`static int ImageOfAction(int symmetry, int action)`");
  TANDEM_GAME_MISSPELLINGS(TANDEM_MISSPELLING)

  static constexpr bool kValid = true;
};

#undef TANDEM_MEMBER
#undef TANDEM_NO_MEMBER
#undef TANDEM_MISSPELLING
#undef TANDEM_MISSPELLINGS
#undef TANDEM_PUZZLE_MISSPELLINGS
#undef TANDEM_GAME_MISSPELLINGS

}  // namespace tandem::struct_members
