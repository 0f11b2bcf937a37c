// The interface through which `tandem play` uses a trained network. The implementation is in
// libtandem_torch, so the game itself does not need LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "search/greedy.h"
#include "search/search.h"

namespace tandem {

/// `HintProvider` gives hints and solutions for the puzzle that its network was trained on.
class HintProvider {
 public:
  virtual ~HintProvider() = default;

  /// The puzzle that the network was trained on.
  virtual const Domain& domain() const = 0;

  /// Returns the network's estimate for `state` and its best move.
  virtual Hint Ask(std::span<const std::uint8_t> state) = 0;

  /// Searches for a solution as `tandem solve` does, and checks it by replaying it. Throws Stopped
  /// once `stop` is reached.
  virtual SearchResult Solve(std::span<const std::uint8_t> state, const StopSignal& stop) = 0;

  /// Returns why a search found no solution and what may help, for the user; "" if it found one.
  virtual std::string Failure(const SearchResult& result) const = 0;
};

}  // namespace tandem
