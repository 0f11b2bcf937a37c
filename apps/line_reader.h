// Lines of standard input.
#pragma once

#include <optional>
#include <string>

#include "base/stop_signal.h"

namespace tandem {

/// LineReader reads lines from standard input, which may be a pipe, a file or a terminal. Unlike
/// std::getline, it stops waiting once a stop is requested.
class LineReader {
 public:
  /// Returns the next line without its line feed. Returns nothing at the end of the input, or once
  /// `stop` is reached. Throws Error if the input cannot be read.
  std::optional<std::string> Next(const StopSignal& stop);

 private:
  bool Fill(const StopSignal& stop);

  std::string read_;  // input that has been read but not returned
};

}  // namespace tandem
