// A puzzle in forty lines: a struct that works on one state at a time. One line makes it a Domain.
//
//     struct Pancake {
//       static constexpr int kActions = 4;              // actions 0, 1, 2, 3
//       static constexpr int kDepth = 5;                // every byte of a state is below kDepth
//       using State = std::array<std::uint8_t, 5>;
//       static State Goal() { return {0, 1, 2, 3, 4}; }
//       static bool IsGoal(const State& state) { return state == Goal(); }
//       static void Apply(State& state, int action) {
//         std::reverse(state.begin(), state.begin() + action + 2);
//       }
//     };
//     TANDEM_REGISTER_PUZZLE(pancake, Pancake);
//
// Apply may return a bool instead; false means that the action does not apply in this state. A
// struct may also have these members:
//
//     static constexpr const char* kSummary           one line for people
//     static constexpr const char* kVersion           a version, such as "2"; change it when moves,
//                                                     costs or goal change, so that networks and
//                                                     examples of the old puzzle are rejected
//     static constexpr BoardShape kBoard              {.rows = R, .columns = C} if the state is the
//                                                     R x C cells of a board, row by row
//     std::string ActionName(int action)              one word; default: the action's number
//     float Cost(int action)                          0.000001 to 1000000; default: 1
//     State Goal(std::uint64_t seed)                  the goal of a problem, chosen by `seed`
//     int Inverse(int action)                         default: found by trying the actions in
//                                                     states near the goal and on random walks
//     std::optional<int> StepBack(State&, std::uint64_t random)
//                                                     if actions have no inverses: see Domain
//     std::string Validate(const State&)              why the state cannot be solved, or ""
//     std::string Format(const State&), State Parse(std::string_view)
//                                                     default: numbers separated by spaces
//     Picture Draw(const State&)                      default: the text that Format writes
//
// Members may be static or const, because many threads call them at once. Tandem makes one object
// of the struct, by a constexpr default constructor, so tables are static members. If Tandem cannot
// call a member, the struct does not compile, and the compiler's message says what was expected.
// Common misspellings of a member, such as `Costs` or `step_back`, do not compile either, unless
// the struct also has the right name.
#pragma once

#include <algorithm>
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
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"
#include "tandem/struct_domain.h"
#include "tandem/struct_members.h"

namespace tandem {

/// Puzzle is the concept of a struct with the required members that the comment at the top lists.
template <class P>
concept Puzzle = requires(const P puzzle, typename P::State state) {
  { P::kActions } -> std::convertible_to<int>;
  { P::kDepth } -> std::convertible_to<int>;
  { puzzle.Goal() } -> std::same_as<typename P::State>;
  { puzzle.IsGoal(state) } -> std::convertible_to<bool>;
  puzzle.Apply(state, 0);
};

/// PuzzleDomain is the Domain of a puzzle struct. States are the bytes of P::State.
template <Puzzle P>
class PuzzleDomain final : public StructDomain<P, Domain> {
 public:
  using State = typename P::State;

  /// Tries the actions in a sample of states. Throws Error if kActions is not 1 to 65536, if kDepth
  /// is not 1 to 256, or if a sampled state has a byte that is not below kDepth. If P has neither
  /// Inverse nor StepBack, also throws Error if some action is undone by no action, or changes none
  /// of the sampled states, so that its inverse cannot be found.
  explicit PuzzleDomain(const std::string& name) : Base(Spec(name)) {}

  void WriteGoals(Rows states) const override {
    const State goal = kPuzzle.Goal();
    for (std::size_t i = 0; i < states.size(); ++i) Write(goal, states[i]);
  }

  void DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const override {
    if constexpr (kPerProblemGoals) {
      for (std::size_t i = 0; i < states.size(); ++i) Write(kPuzzle.Goal(seeds[i]), states[i]);
    } else {
      WriteGoals(states);
    }
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      State state = Read(states[i]);
      if (ApplyTo(state, actions[i])) Write(state, states[i]);
    }
  }

  void Expand(ConstRows states, Rows children) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const State parent = Read(states[i]);
      for (int a = 0; a < P::kActions; ++a) {
        State child = parent;
        const bool applies = ApplyTo(child, a);
        Write(applies ? child : parent, children[i * P::kActions + static_cast<std::size_t>(a)]);
      }
    }
  }

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    if constexpr (!kMasks) return Domain::Mask(states, applies);
    for (std::size_t i = 0; i < states.size(); ++i) {
      for (int a = 0; a < P::kActions; ++a) {
        State child = Read(states[i]);
        applies[i * P::kActions + static_cast<std::size_t>(a)] = ApplyTo(child, a) ? 1 : 0;
      }
    }
  }

  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const override {
    if constexpr (kStepsBack) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        State before = Read(states[i]);
        const std::optional<int> action = kPuzzle.StepBack(before, randoms[i]);
        actions[i].reset();
        if (!action) continue;
        Write(before, states[i]);
        actions[i] = ToAction(Base::spec().name, "StepBack", *action);
      }
    } else {
      Domain::StepBack(states, randoms, actions);
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      is_goal[i] = kPuzzle.IsGoal(Read(states[i])) ? 1 : 0;
    }
  }

 private:
  using Base = StructDomain<P, Domain>;
  using Base::Read;
  using Base::Write;
  static constexpr P kPuzzle{};
  static_assert(struct_members::CheckedPuzzle<P>::kValid);
  static constexpr bool kMasks =
      std::same_as<decltype(std::declval<const P&>().Apply(std::declval<State&>(), 0)), bool>;
  static constexpr bool kPerProblemGoals = requires(const P p) {
    p.Goal(std::declval<std::uint64_t>());
  };
  static constexpr bool kStepsBack = requires(const P p, State s) {
    p.StepBack(s, std::declval<std::uint64_t>());
  };

  // Returns whether the action applies. If it does not, `state` is unspecified afterwards.
  static bool ApplyTo(State& state, int action) {
    if constexpr (kMasks) return kPuzzle.Apply(state, action);
    kPuzzle.Apply(state, action);
    return true;
  }

  static void CheckNumber(const std::string& name, const char* constant, std::int64_t number,
                          std::int64_t most) {
    if (number >= 1 && number <= most) return;
    throw Error("puzzle '" + name + "': " + constant + " is " + std::to_string(number) +
                ", expected 1 to " + std::to_string(most));
  }

  static DomainSpec Spec(const std::string& name) {
    CheckNumber(name, "kActions", static_cast<std::int64_t>(P::kActions), 65'536);
    CheckNumber(name, "kDepth", static_cast<std::int64_t>(P::kDepth), 256);
    DomainSpec spec = Base::BasicSpec(name);
    spec.masks_actions = kMasks;
    spec.per_problem_goals = kPerProblemGoals;
    if constexpr (requires { kPuzzle.Cost(0); }) {
      for (int a = 0; a < P::kActions; ++a) spec.action_costs.push_back(kPuzzle.Cost(a));
    }
    const std::vector<State> samples = Samples();
    CheckDepth(name, samples);
    if constexpr (!kStepsBack) spec.inverse_actions = Inverses(spec, samples);
    return spec;
  }

  // A byte that is too large would make LibTorch fail during training, without naming the puzzle.
  static void CheckDepth(const std::string& name, const std::vector<State>& samples) {
    for (const State& state : samples) {
      const auto beyond = Base::FindBeyondDepth(state);
      if (beyond == state.end()) continue;
      throw Error("puzzle '" + name + "': byte " + std::to_string(beyond - state.begin()) +
                  " of state " + FormatNumbers(state) + " is " + std::to_string(*beyond) +
                  ", expected below kDepth, " + std::to_string(P::kDepth));
    }
  }

  static Action ToAction(const std::string& name, const char* member, int action) {
    if (action >= 0 && action < P::kActions) return static_cast<Action>(action);
    throw Error("puzzle '" + name + "': " + member + " returned " + std::to_string(action) +
                ", expected an action, from 0 to " + std::to_string(P::kActions - 1));
  }

  static std::vector<Action> Inverses(const DomainSpec& spec, const std::vector<State>& samples) {
    std::vector<Action> inverses;
    for (int a = 0; a < P::kActions; ++a) {
      if constexpr (requires { kPuzzle.Inverse(a); }) {
        inverses.push_back(ToAction(spec.name, "Inverse", kPuzzle.Inverse(a)));
      } else {
        CheckChanges(spec, a, samples);
        const std::optional<int> inverse = FindInverse(a, samples);
        if (!inverse) FailWithoutInverse(spec, a, samples);
        inverses.push_back(static_cast<Action>(*inverse));
      }
    }
    return inverses;
  }

  [[noreturn]] static void FailWithoutInverse(const DomainSpec& spec, int action,
                                              const std::vector<State>& samples) {
    const std::string& named = spec.action_names[static_cast<std::size_t>(action)];
    for (const State& state : samples) {
      State once = state;
      State again = state;
      if (ApplyTo(once, action) == ApplyTo(again, action) && once == again) continue;
      throw Error("puzzle '" + spec.name + "': action " + named + " in state " +
                  FormatNumbers(state) + " differs from call to call");
    }
    throw Error("puzzle '" + spec.name + "': no action undoes action " + named +
                ", so the struct must have StepBack");
  }

  // Throws if the action changes no sample, since any action would then look like its inverse.
  static void CheckChanges(const DomainSpec& spec, int action, const std::vector<State>& samples) {
    const bool changes = std::ranges::any_of(samples, [&](const State& state) {
      State other = state;
      return ApplyTo(other, action) && other != state;
    });
    if (changes) return;
    throw Error("puzzle '" + spec.name + "': action " +
                spec.action_names[static_cast<std::size_t>(action)] + " changes none of the " +
                std::to_string(samples.size()) +
                " states in which it was tried, so its inverse cannot be found. Add `int "
                "Inverse(int action)` to the struct, or StepBack if no action undoes it");
  }

  // Returns the first action that undoes `action` in every sample in which `action` applies.
  static std::optional<int> FindInverse(int action, const std::vector<State>& samples) {
    for (int inverse = 0; inverse < P::kActions; ++inverse) {
      if (std::ranges::all_of(samples, [&](const State& state) {
            State other = state;
            if (!ApplyTo(other, action)) return true;
            return ApplyTo(other, inverse) && other == state;
          })) {
        return inverse;
      }
    }
    return std::nullopt;
  }

  // The states nearest to the goal, and states on random walks, which are farther away.
  static std::vector<State> Samples() {
    std::vector<State> samples = NearGoal();
    constexpr std::uint64_t kWalks = 20;
    constexpr int kSteps = 50;
    std::uint64_t random = 1;
    for (std::uint64_t walk = 0; walk < kWalks; ++walk) {
      State state = kPuzzle.Goal();
      if constexpr (kPerProblemGoals) state = samples.emplace_back(kPuzzle.Goal(walk));
      for (int step = 0; step < kSteps; ++step) {
        random = random * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;  // Knuth's MMIX
        State child = state;
        if (!ApplyTo(child, static_cast<int>((random >> 33) % P::kActions))) continue;
        if (child != state) state = samples.emplace_back(child);
      }
    }
    return samples;
  }

  static std::vector<State> NearGoal() {
    constexpr std::size_t kEnough = 300;
    std::vector<State> states = {kPuzzle.Goal()};
    for (std::size_t i = 0; i < states.size() && states.size() < kEnough; ++i) {
      for (int a = 0; a < P::kActions; ++a) {
        State child = states[i];
        if (ApplyTo(child, a) && std::ranges::find(states, child) == states.end()) {
          states.push_back(child);
        }
      }
    }
    return states;
  }
};

/// Makes the domain of a puzzle struct. If a required member is missing or cannot be called, does
/// not compile, and the compiler's first error says what was expected.
template <class P>
std::unique_ptr<const Domain> MakePuzzle(const char* name) {
  static_assert(struct_members::CheckedSizes<P>::kValid);
  static_assert(
      requires(const P puzzle) {
        { puzzle.Goal() } -> std::same_as<typename P::State>;
      },
      "Goal is missing, or is neither static nor const: expected `static State Goal()`");
  static_assert(
      requires(const P puzzle, const typename P::State state) {
        { puzzle.IsGoal(state) } -> std::convertible_to<bool>;
      },
      "IsGoal is missing, or is neither static nor const: expected "
      "`static bool IsGoal(const State& state)`");
  static_assert(
      requires(const P puzzle, typename P::State state) { puzzle.Apply(state, 0); },
      "Apply is missing, or is neither static nor const: expected "
      "`static void Apply(State& state, int action)`");
  if constexpr (Puzzle<P>) {
    return std::make_unique<const PuzzleDomain<P>>(name);
  } else {
    return nullptr;
  }
}

}  // namespace tandem

/// Registers a puzzle struct as a domain, like TANDEM_REGISTER_DOMAIN.
#define TANDEM_REGISTER_PUZZLE(name, ...) \
  TANDEM_REGISTER_DOMAIN(name, [] { return ::tandem::MakePuzzle<__VA_ARGS__>(#name); })
