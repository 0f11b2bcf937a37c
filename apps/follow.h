// tandem generate --follow RUN
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace tandem {

struct FollowArgs {
  std::string run;   ///< run to generate rows for
  std::string name;  ///< of this generator; "": made of the names of the machine and the process
  std::vector<Override> overrides;
};

/// Generates rows for a run with `data.source: stream` until it ends. Returns the exit code.
int Follow(FollowArgs args);

}  // namespace tandem
