// The interface of a game of two players, and a game in forty lines: a struct that works on one
// position at a time. One line makes it a GameDomain.
//
//     struct Nim {
//       static constexpr int kActions = 3;        // actions 0, 1, 2: take 1, 2 or 3 matches
//       static constexpr int kDepth = 22;         // every byte of an input is below kDepth
//       using State = std::array<std::uint8_t, 2>;  // matches left, and whose turn it is
//       static State Start() { return {21, 0}; }
//       static int Player(const State& state) { return state[1]; }
//       static std::optional<int> Result(const State& state) {
//         return state[0] == 0 ? std::optional(-1) : std::nullopt;
//       }
//       static bool Apply(State& state, int action) {
//         if (state[0] < action + 1) return false;
//         state = {static_cast<std::uint8_t>(state[0] - action - 1),
//                  static_cast<std::uint8_t>(1 - state[1])};
//         return true;
//       }
//     };
//     TANDEM_REGISTER_GAME(nim, Nim);
//
// Player returns 0 or 1. Result returns 1, 0 or -1 if the game is over and the player whose turn it
// would be has won, drawn or lost, and nothing while the game goes on. Apply returns false if the
// action is illegal; it is not called once the game is over. A struct may also have these members:
//
//     static constexpr const char* kSummary           one line for people
//     static constexpr const char* kVersion           changes when the rules change
//     static constexpr BoardShape kBoard              if the network's input is a board
//     static constexpr int kInputs                    positions of the network's input, and
//     void Encode(const State&, std::uint8_t* input)  writes them; default: the bytes of the state
//     static constexpr int kSymmetries                number of symmetries, identity included, and
//     int Image(int symmetry, int position), int ImageOfAction(int symmetry, int action)
//                                                     where each leads; symmetry 0 is the identity
//     std::string ActionName(int action)              one word; default: the action's number
//     std::string Validate(const State&)              why the position is impossible, or ""
//     std::string Format(const State&), State Parse(std::string_view)
//                                                     default: numbers separated by spaces
//     Picture Draw(const State&)                      default: the text that Format writes
//
// Members may be static or const, because many threads call them at once. As in a puzzle struct, a
// member that Tandem cannot call does not compile, nor do common misspellings.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/domain.h"
#include "tandem/registry.h"
#include "tandem/struct_domain.h"
#include "tandem/struct_members.h"

namespace tandem {

/// Outcome says how a position stands for the player whose turn it is, or would be.
enum class Outcome : std::uint8_t { kOpen, kLoss, kDraw, kWin };

/// The result of a game that is over: -1, 0 or 1.
constexpr int ResultOf(Outcome outcome) {
  return static_cast<int>(outcome) - static_cast<int>(Outcome::kDraw);
}

/// Symmetry maps positions of the network's input and actions to those of the mirrored or turned
/// board. Position p of the input becomes position positions[p] of the image, and action a becomes
/// actions[a].
struct Symmetry {
  std::vector<std::uint32_t> positions;
  std::vector<Action> actions;
};

/// GameDomain is the behaviour of a game of two players who take turns and know everything about
/// the position. One player wins what the other loses. A turn is one action; a player who cannot
/// move passes by an action.
///
/// Everything that takes a Domain takes a game, as a puzzle whose goals are the positions in which
/// the game is over. Three methods mean something else than for a puzzle, because games are played
/// from their start and not back from their end:
///
/// - WriteGoals writes the start of the game, which is no goal.
/// - StepBack makes a random legal move, so that random walks are random play from the start. It
///   returns the action, and nothing if the game is over.
/// - No action applies once the game is over.
///
/// The network's value of a position is a cost, so that less is better, as for puzzles: 1 minus the
/// expected result for the player whose turn it is. 0 is a win, 1 a draw and 2 a loss.
///
/// Row sizes, exceptions and threads are as for Domain.
class GameDomain : public Domain {
 public:
  /// Sets outcomes[i] to how row i stands: kOpen while the game goes on.
  virtual void Outcomes(ConstRows states, std::span<Outcome> outcomes) const = 0;

  /// Sets players[i] to 0 or 1, the player whose turn it is in row i. Each action changes it.
  virtual void Players(ConstRows states, std::span<std::uint8_t> players) const = 0;

  /// The symmetries of the board, without the identity.
  const std::vector<Symmetry>& symmetries() const { return symmetries_; }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const final;
  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const final;

 protected:
  /// Throws Error if `spec` contradicts itself, has inverse_actions or lacks masks_actions, or if a
  /// symmetry is not a permutation.
  GameDomain(DomainSpec spec, std::vector<Symmetry> symmetries);

 private:
  std::vector<Symmetry> symmetries_;
};

/// `domain` as a game; null if it is a puzzle.
inline const GameDomain* AsGame(const Domain& domain) {
  return dynamic_cast<const GameDomain*>(&domain);
}

/// The cell to which a symmetry of a board leads `cell`. Bit 0 of `symmetry` mirrors columns, bit 1
/// rows, and bit 2, for square boards alone, exchanges the two. So 8 is the number of symmetries of
/// a square, 4 that of another rectangle, and 2 that of a board with a top.
constexpr int ImageOnBoard(BoardShape shape, int symmetry, int cell) {
  int row = cell / shape.columns;
  int column = cell % shape.columns;
  if ((symmetry & 1) != 0) column = shape.columns - 1 - column;
  if ((symmetry & 2) != 0) row = shape.rows - 1 - row;
  if ((symmetry & 4) != 0) std::swap(row, column);
  return row * shape.columns + column;
}

/// TwoPlayerGame is the concept of a struct with the members that the comment at the top requires.
template <class G>
concept TwoPlayerGame = requires(const G game, typename G::State state) {
  { G::kActions } -> std::convertible_to<int>;
  { G::kDepth } -> std::convertible_to<int>;
  { game.Start() } -> std::same_as<typename G::State>;
  { game.Player(state) } -> std::convertible_to<int>;
  { game.Result(state) } -> std::same_as<std::optional<int>>;
  { game.Apply(state, 0) } -> std::same_as<bool>;
};

/// GameOf is the GameDomain of a game struct. States are the bytes of G::State.
template <TwoPlayerGame G>
class GameOf final : public StructDomain<G, GameDomain> {
 public:
  using State = typename G::State;

  explicit GameOf(const std::string& name) : Base(Spec(name), AllSymmetries()) {}

  void WriteGoals(Rows states) const override {
    for (std::size_t i = 0; i < states.size(); ++i) Write(kGame.Start(), states[i]);
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      State state = Read(states[i]);
      if (ApplyTo(state, actions[i])) Write(state, states[i]);
    }
  }

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const State before = Read(states[i]);
      const bool is_over = kGame.Result(before).has_value();
      for (int a = 0; a < G::kActions; ++a) {
        State state = before;
        applies[i * G::kActions + static_cast<std::size_t>(a)] =
            !is_over && kGame.Apply(state, a) ? 1 : 0;
      }
    }
  }

  void Outcomes(ConstRows states, std::span<Outcome> outcomes) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::optional<int> result = kGame.Result(Read(states[i]));
      if (result && (*result < -1 || *result > 1)) {
        throw Error("Result returned " + std::to_string(*result) + ", expected 1, 0 or -1");
      }
      outcomes[i] = result ? static_cast<Outcome>(*result + 2) : Outcome::kOpen;
    }
  }

  void Players(ConstRows states, std::span<std::uint8_t> players) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      players[i] = static_cast<std::uint8_t>(kGame.Player(Read(states[i])));
    }
  }

  void Encode(ConstRows states, Rows inputs) const override {
    if constexpr (kEncodes) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        kGame.Encode(Read(states[i]), inputs[i].data());
      }
    } else {
      Domain::Encode(states, inputs);
    }
  }

 private:
  using Base = StructDomain<G, GameDomain>;
  using Base::Read;
  using Base::Write;
  static constexpr G kGame{};
  static constexpr bool kEncodes = requires { G::kInputs; };
  static_assert(struct_members::CheckedGame<G>::kValid);

  // Returns whether the action is legal. If it is not, `state` is unspecified afterwards.
  static bool ApplyTo(State& state, int action) {
    return !kGame.Result(state) && kGame.Apply(state, action);
  }

  static constexpr int NumInputs() {
    if constexpr (kEncodes) return G::kInputs;
    return static_cast<int>(Base::kSize);
  }

  static DomainSpec Spec(const std::string& name) {
    DomainSpec spec = Base::BasicSpec(name);
    spec.input.positions = NumInputs();
    spec.masks_actions = true;
    return spec;
  }

  static std::vector<Symmetry> AllSymmetries() {
    std::vector<Symmetry> all;
    if constexpr (requires { G::kSymmetries; }) {
      for (int s = 1; s < G::kSymmetries; ++s) {
        Symmetry& symmetry = all.emplace_back();
        for (int p = 0; p < NumInputs(); ++p) {
          symmetry.positions.push_back(static_cast<std::uint32_t>(kGame.Image(s, p)));
        }
        for (int a = 0; a < G::kActions; ++a) {
          symmetry.actions.push_back(static_cast<Action>(kGame.ImageOfAction(s, a)));
        }
      }
    }
    return all;
  }
};

/// Makes the domain of a game struct. If a required member is missing or cannot be called, does not
/// compile, and the compiler's first error says what was expected.
template <class G>
std::unique_ptr<const Domain> MakeGame(const char* name) {
  static_assert(struct_members::CheckedSizes<G>::kValid);
  static_assert(
      requires(const G game) {
        { game.Start() } -> std::same_as<typename G::State>;
      },
      "Start is missing or cannot be called: expected `static State Start()`");
  static_assert(
      requires(const G game, const typename G::State state) {
        { game.Player(state) } -> std::convertible_to<int>;
      },
      "Player is missing or cannot be called: expected `static int Player(const State& state)`");
  static_assert(
      requires(const G game, const typename G::State state) {
        { game.Result(state) } -> std::same_as<std::optional<int>>;
      },
      "Result is missing or cannot be called: expected "
      "`static std::optional<int> Result(const State& state)`");
  static_assert(
      requires(const G game, typename G::State state) {
        { game.Apply(state, 0) } -> std::same_as<bool>;
      },
      "Apply is missing or cannot be called: expected "
      "`static bool Apply(State& state, int action)`");
  if constexpr (TwoPlayerGame<G>) {
    return std::make_unique<const GameOf<G>>(name);
  } else {
    return nullptr;
  }
}

}  // namespace tandem

/// Registers a game struct under `name`, as TANDEM_REGISTER_DOMAIN registers a domain.
#define TANDEM_REGISTER_GAME(name, ...) \
  TANDEM_REGISTER_DOMAIN(name, [] { return ::tandem::MakeGame<__VA_ARGS__>(#name); })
