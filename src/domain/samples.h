// The states on which the conformance suite tries a domain, and the texts of its reports.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

using StateBytes = std::vector<std::uint8_t>;

/// The report if a domain throws something like `42`.
inline constexpr const char* kUnknownException =
    "unknown exception (not derived from std::exception)";

/// GuardedRows is memory for rows, with a margin on both sides that detects writes out of bounds.
class GuardedRows {
 public:
  GuardedRows(std::size_t count, std::size_t row_size);

  Rows rows() { return {bytes_.data() + kMargin, count_, row_size_}; }
  bool margins_are_untouched() const;

 private:
  static constexpr std::size_t kMargin = 64;
  static constexpr std::uint8_t kMark = 0xA5;

  const std::size_t count_;
  const std::size_t row_size_;
  StateBytes bytes_;
};

/// Samples holds states of a domain, each the end of a random walk, and calls the domain's methods
/// with single states.
class Samples {
 public:
  /// Takes `count` walks, of 0 to count - 1 steps. `domain` must outlive this object. Throws what
  /// the domain throws.
  Samples(const Domain& domain, std::size_t count);

  const Domain& domain() const { return domain_; }
  const DomainSpec& spec() const { return domain_.spec(); }
  std::size_t num_actions() const { return static_cast<std::size_t>(spec().num_actions()); }
  std::size_t size() const { return size_; }
  ConstRows states() const { return {bytes_.data(), size_, row_size()}; }
  std::size_t row_size() const { return static_cast<std::size_t>(spec().state_size); }

  StateBytes After(std::span<const std::uint8_t> state, Action action) const;
  bool IsGoal(std::span<const std::uint8_t> state) const;
  std::vector<std::uint8_t> MaskOf(std::span<const std::uint8_t> state) const;

  /// "state X", or the state's bytes if FormatState throws.
  std::string Describe(std::span<const std::uint8_t> state) const;
  /// "action A in state X".
  std::string Describe(std::span<const std::uint8_t> state, Action action) const;

  /// Calls `find` for each state and action, and returns its first result that is not empty, or "".
  std::string FirstOfActions(
      const std::function<std::string(std::span<const std::uint8_t>, Action)>& find) const;
  /// Calls `find` for each state, and returns its first result that is not empty, or "".
  std::string FirstOfStates(
      const std::function<std::string(std::span<const std::uint8_t>)>& find) const;

 private:
  const Domain& domain_;
  const std::size_t size_;
  StateBytes bytes_;
};

}  // namespace tandem
