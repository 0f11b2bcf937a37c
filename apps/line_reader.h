// Reads lines from standard input until a stop is requested.
#pragma once

#include <optional>
#include <string>

#include "base/stop_signal.h"

namespace tandem {

/// `LineReader` reads lines from standard input, which may be a pipe, a file or a terminal. Unlike
/// std::getline, it returns once a stop is requested.
class LineReader {
 public:
  /// Returns the next line without its line feed, or nothing at the end of the input or once `stop`
  /// is reached. Throws Error if the input cannot be read.
  std::optional<std::string> Next(const StopSignal& stop);

 private:
  // Waits for more input. Returns false at the end of the input or once `stop` is reached.
  bool Fill(const StopSignal& stop);

  std::string read_;  // read but not yet returned
};

}  // namespace tandem
