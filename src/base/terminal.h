// What the terminal can show.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tandem {

inline bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

/// Whether the cursor can be moved: a terminal, and not one that calls itself dumb.
inline bool HasCursor(int fd) {
  const char* term = std::getenv("TERM");
  return IsTerminal(fd) && (term == nullptr || std::string_view(term) != "dumb");
}

/// Colours go to such terminals only, and not where NO_COLOR (no-color.org) is set.
inline bool UseColour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return HasCursor(fd) && (no_colour == nullptr || *no_colour == '\0');
}

/// Columns of the terminal, 80 where it does not tell.
inline int TerminalWidth(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace tandem
