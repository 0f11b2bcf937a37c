// The code that the domains of puzzle structs (puzzle.h) and of game structs (game.h) share.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tandem/domain.h"
#include "tandem/error.h"
#include "tandem/state_text.h"
#include "tandem/struct_members.h"

namespace tandem {

/// StructDomain reads, writes and draws the states of a struct S, which are the bytes of S::State.
/// `Base` is Domain or a class derived from it.
template <class S, class Base>
class StructDomain : public Base {
 public:
  using State = typename S::State;

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const final {
    if constexpr (requires { kStruct.Parse(text); }) {
      const State parsed = kStruct.Parse(text);
      CheckParsed(parsed);
      Write(parsed, state);
    } else {
      ParseNumbers(text, S::kDepth, state);
    }
    if constexpr (requires(State s) { kStruct.Validate(s); }) {
      const std::string problem = kStruct.Validate(Read(state));
      if (!problem.empty()) throw InputError(problem);
    }
  }

  std::string FormatState(std::span<const std::uint8_t> state) const final {
    if constexpr (requires(State s) { kStruct.Format(s); }) return kStruct.Format(Read(state));
    return FormatNumbers(state);
  }

  Picture Draw(std::span<const std::uint8_t> state) const final {
    if constexpr (requires(State s) { kStruct.Draw(s); }) return kStruct.Draw(Read(state));
    return Domain::Draw(state);
  }

 protected:
  static constexpr S kStruct{};
  static constexpr std::size_t kSize = sizeof(State);
  static_assert(struct_members::Checked<S>::kValid);
  static_assert(std::same_as<State, std::array<std::uint8_t, kSize>>,
                "State is not an array of bytes: expected `using State = std::array<std::uint8_t, "
                "N>`");

  using Base::Base;

  static State Read(std::span<const std::uint8_t> row) {
    State state;
    std::copy_n(row.data(), kSize, state.data());
    return state;
  }

  static void Write(const State& state, std::span<std::uint8_t> row) {
    std::copy_n(state.data(), kSize, row.data());
  }

  /// Returns a spec with the sizes, names and texts of the struct.
  static DomainSpec BasicSpec(const std::string& name) {
    DomainSpec spec;
    spec.name = name;
    spec.state_size = static_cast<int>(kSize);
    spec.input = {.positions = static_cast<int>(kSize), .depth = S::kDepth};
    if constexpr (requires { S::kSummary; }) spec.summary = S::kSummary;
    if constexpr (requires { S::kVersion; }) spec.version = S::kVersion;
    if constexpr (requires { S::kBoard; }) spec.board = S::kBoard;
    for (int a = 0; a < S::kActions; ++a) {
      if constexpr (requires { kStruct.ActionName(a); }) {
        spec.action_names.push_back(kStruct.ActionName(a));
      } else {
        spec.action_names.push_back(std::to_string(a));
      }
    }
    return spec;
  }

  static auto FindBeyondDepth(const State& state) {
    return std::ranges::find_if(state, [](int byte) { return byte >= S::kDepth; });
  }

 private:
  static void CheckParsed(const State& state) {
    const auto beyond = FindBeyondDepth(state);
    if (beyond == state.end()) return;
    throw InputError("position " + std::to_string(beyond - state.begin()) + " is " +
                     std::to_string(*beyond) + ", expected a number from 0 to " +
                     std::to_string(S::kDepth - 1));
  }
};

}  // namespace tandem
