// Checks of a puzzle's notation, for fuzz targets.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tandem/domain.h"
#include "tandem/error.h"

namespace tandem {

/// Aborts if the state does not survive being written and read back, or cannot be moved or drawn.
inline void MustRoundTrip(const Domain& domain, const std::vector<std::uint8_t>& state) {
  std::vector<std::uint8_t> again(state.size());
  domain.ParseState(domain.FormatState(state), again);
  if (again != state) std::abort();
  std::vector<std::uint8_t> children(state.size() *
                                     static_cast<std::size_t>(domain.spec().num_actions()));
  domain.Expand(ConstRows(std::span(state)),
                {children.data(), children.size() / state.size(), state.size()});
  if (domain.Draw(state).cells.empty()) std::abort();
}

/// Calls MustRoundTrip if `text` is read as a state; otherwise ParseState must throw InputError.
inline void RoundTripIfState(const Domain& domain, std::string_view text) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  try {
    domain.ParseState(text, state);
  } catch (const InputError&) {
    return;
  }
  MustRoundTrip(domain, state);
}

}  // namespace tandem
