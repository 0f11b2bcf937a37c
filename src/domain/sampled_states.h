// The part of the conformance suite that tests calls with one and with many states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// SampledStates holds states of a domain, each the end of a random walk, and calls the domain's
/// methods with single states. All methods throw what the domain throws.
class SampledStates {
 public:
  using State = std::span<const std::uint8_t>;
  using Bytes = std::vector<std::uint8_t>;

  /// Takes `count` walks, of 0 to count - 1 steps. `domain` must outlive this object.
  SampledStates(const Domain& domain, std::size_t count);

  const Domain& domain() const { return domain_; }
  const DomainSpec& spec() const { return domain_.spec(); }
  std::size_t num_actions() const { return static_cast<std::size_t>(spec().num_actions()); }
  std::size_t size() const { return size_; }
  ConstRows states() const { return {bytes_.data(), size_, row_size()}; }
  std::size_t row_size() const { return static_cast<std::size_t>(spec().state_size); }

  /// The state after an action.
  Bytes After(State state, Action action) const;

  /// Throws Error if the domain's flag is neither 0 nor 1.
  bool IsGoal(State state) const;

  /// One flag per action.
  Bytes MaskOf(State state) const;

  /// The network's input.
  Bytes InputOf(State state) const;

  /// "state X", or the state's bytes if FormatState throws.
  std::string NameOf(State state) const;

  /// "action A in state X".
  std::string NameOf(State state, Action action) const;

  /// Calls find(state) for each state, and returns its first result that is not empty, or "".
  std::string FirstOfStates(const auto& find) const {
    for (std::size_t i = 0; i < size_; ++i) {
      std::string found = find(states()[i]);
      if (!found.empty()) return found;
    }
    return "";
  }

  /// Calls find(state, action) for each pair, and returns its first result that is not empty, or
  /// "".
  std::string FirstOfActions(const auto& find) const {
    return FirstOfStates([&](State state) -> std::string {
      for (std::size_t a = 0; a < num_actions(); ++a) {
        std::string found = find(state, static_cast<Action>(a));
        if (!found.empty()) return found;
      }
      return "";
    });
  }

 private:
  const Domain& domain_;
  const std::size_t size_;
  Bytes bytes_;
};

// Each check returns what is wrong, or "".

/// Checks that Apply, Expand, Encode, Mask and IsGoal give the same results in every call.
std::string CheckDeterminism(const SampledStates& samples);

/// Checks that these methods give the same results for a batch as for single rows, except Expand.
std::string CheckBatches(const SampledStates& samples);

/// Checks that Expand gives the same children as Apply.
std::string CheckExpand(const SampledStates& samples);

/// Checks that these methods write only inside the rows that they are given.
std::string CheckMargins(const SampledStates& samples);

/// Checks that these methods give the same results if `workers` threads call them at once as in a
/// single thread. Starts the threads, and waits for them.
std::string CheckThreads(const SampledStates& samples, int workers);

}  // namespace tandem
