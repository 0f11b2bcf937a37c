// What a puzzle's struct has, held against what puzzle.h says it may have. A member that was meant
// for Tandem, and that Tandem could not call, would be passed over in silence; here it stops the
// compiler with a sentence.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tandem/picture.h"

namespace tandem::puzzle_members {

/// The optional members' names, and those of Domain that a struct has no use for.
struct Names {
  void ActionName(), Cost(), Inverse(), StepBack(), Fault(), Format(), Parse(), Draw();
  void Encode(), Expand(), Mask();
};

/// A name is ambiguous here if P has it too: as a function, overloaded or not, or as anything else.
template <class P>
struct Both : P, Names {};

/// Of a final struct, only members that can be called are seen.
template <class P>
requires std::is_final_v<P>
struct Both<P> : Names {
};

// One optional member, by what calling it takes.
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
      " is called otherwise than Tandem calls it: expected "             \
      "`" #Result " " #name parameters "`")

// A method of Domain.
#define TANDEM_NO_PUZZLE_MEMBER(name, instead)                                     \
  static_assert(                                                                   \
      requires { &Both<P>::name; },                                                \
      "the puzzle has " #name ", which Tandem does not call of a struct: " instead \
      ", or write a Domain (tandem/domain.h)")

/// Compiles if every member of P that has one of the names is what it should be.
template <class P>
struct Checked {
  using State = typename P::State;
  using Applied = decltype(std::declval<const P&>().Apply(std::declval<State&>(), 0));

  static_assert(std::is_void_v<Applied> || std::same_as<Applied, bool>,
                "the puzzle's Apply returns neither void nor bool: expected `void Apply(State& "
                "state, int action)`, or bool, false where the action does not apply");
  static_assert(
      !requires(const P puzzle) { puzzle.Apply(State{}, 0); },
      "the puzzle's Apply gets a copy of the state, and so changes nothing: expected "
      "`State& state`");
  static_assert(
      !requires(const P puzzle) { puzzle.StepBack(State{}, std::declval<std::uint64_t>()); },
      "the puzzle's StepBack gets a copy of the state, and so changes nothing: expected "
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
  TANDEM_PUZZLE_MEMBER(std::string, Fault, "(const State& state)", std::declval<const State&>());
  TANDEM_PUZZLE_MEMBER(std::string, Format, "(const State& state)", std::declval<const State&>());
  TANDEM_PUZZLE_MEMBER(State, Parse, "(std::string_view text)", std::string_view());
  TANDEM_PUZZLE_MEMBER(Picture, Draw, "(const State& state)", std::declval<const State&>());
  TANDEM_NO_PUZZLE_MEMBER(Encode, "the network reads the bytes of State; give it another name");
  TANDEM_NO_PUZZLE_MEMBER(Expand, "it calls Apply; give it another name");
  TANDEM_NO_PUZZLE_MEMBER(Mask, "Apply returns false where an action does not apply");

  static constexpr bool kRight = true;
};

#undef TANDEM_PUZZLE_MEMBER
#undef TANDEM_NO_PUZZLE_MEMBER

}  // namespace tandem::puzzle_members
