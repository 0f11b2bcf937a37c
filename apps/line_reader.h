// Lines from standard input, until a signal comes.
#pragma once

#include <optional>
#include <string>

#include "base/stop_signal.h"

namespace tandem {

/// Reads a pipe, a file or a terminal. Not std::getline, which a signal does not end.
class LineReader {
 public:
  /// The next line, without its line feed; nothing at the end of the input or once `stop` is
  /// reached. Throws Error if the input cannot be read.
  std::optional<std::string> Next(const StopSignal& stop);

 private:
  // Waits for more of the input; false where none comes.
  bool Fill(const StopSignal& stop);

  std::string read_;  // and not yet returned
};

}  // namespace tandem
