// A trained network that a player may ask. It stands in libtandem_torch; this much of it, and so
// the game, does without LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "search/hint.h"
#include "search/search.h"

namespace tandem {

class HintProvider {
 public:
  virtual ~HintProvider() = default;

  /// The puzzle that the network was trained on.
  virtual const Domain& domain() const = 0;

  virtual Hint Ask(std::span<const std::uint8_t> state) = 0;

  /// Searches as `tandem solve` would; the moves have been replayed. Throws Stopped.
  virtual SearchResult Solve(std::span<const std::uint8_t> state, const StopSignal& stop) = 0;

  /// Why that found no solution, and what may help, for the user; "" if it did.
  virtual std::string Failure(const SearchResult& result) const = 0;
};

}  // namespace tandem
