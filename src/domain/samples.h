// What the conformance suite tries a domain on, and how it tells what it found.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

using StateBytes = std::vector<std::uint8_t>;

/// What is said where a domain throws `42` or the like.
inline constexpr const char* kNoException = "something is thrown that is no std::exception";

/// Rows with a margin before and behind that no one may write to.
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

/// States of a domain, the ends of random walks, and what single-state calls make of them.
class Samples {
 public:
  /// `domain` must outlive this. Throws what the domain throws.
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

  /// "state X", or its bytes where the domain cannot write it.
  std::string Tell(std::span<const std::uint8_t> state) const;
  /// "action A in state X".
  std::string Tell(std::span<const std::uint8_t> state, Action action) const;

  /// What `find` says of the first (state, action) of which it says anything.
  std::string FirstOfActions(
      const std::function<std::string(std::span<const std::uint8_t>, Action)>& find) const;
  /// The same of states.
  std::string FirstOfStates(
      const std::function<std::string(std::span<const std::uint8_t>)>& find) const;

 private:
  const Domain& domain_;
  const std::size_t size_;
  StateBytes bytes_;
};

}  // namespace tandem
