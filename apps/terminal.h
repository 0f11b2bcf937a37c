// What the terminal can show.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tandem {

inline bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

/// Colours go to terminals only, and not where NO_COLOR (no-color.org) is set.
inline bool UseColour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return IsTerminal(fd) && (no_colour == nullptr || *no_colour == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace tandem
