// Plays moves and provokes errors on states that are written as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {

/// Returns the state `text` of the puzzle `domain_name` after these moves, as text.
inline std::string After(const std::string& domain_name, const std::string& text,
                         std::string_view moves) {
  const auto domain = MakeDomain(domain_name);
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain->spec().state_size));
  domain->ParseState(text, state);
  for (const Action action : ParseActions(domain->spec(), moves)) {
    domain->Apply(Rows(std::span(state)), {&action, 1});
  }
  return domain->FormatState(state);
}

/// Returns the error of the puzzle `domain_name` for the state `text`; "" if the state is valid.
inline std::string ErrorFor(const std::string& domain_name, const std::string& text) {
  const auto domain = MakeDomain(domain_name);
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain->spec().state_size));
  try {
    domain->ParseState(text, state);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace tandem
