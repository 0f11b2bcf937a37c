// The capabilities of the terminal.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tandem {

inline bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

/// Whether the cursor can be moved: `fd` is a terminal, and TERM is not "dumb".
inline bool HasCursor(int fd) {
  const char* term = std::getenv("TERM");
  return IsTerminal(fd) && (term == nullptr || std::string_view(term) != "dumb");
}

/// Whether to use colours: the cursor can be moved, and NO_COLOR (no-color.org) is not set.
inline bool UseColour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return HasCursor(fd) && (no_colour == nullptr || *no_colour == '\0');
}

/// The width of the terminal in columns; 80 if it is unknown.
inline int TerminalWidth(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace tandem
