// The arguments that name the trained networks to use.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace tandem {

/// ModelArgs names the networks of runs, and changes to the runs' configs. If there is more than
/// one network, their mean is used.
struct ModelArgs {
  std::vector<std::string> runs;                    ///< folders; at least one
  std::vector<std::string> checkpoints = {"last"};  ///< of each run: "last", "best" or a file
  std::vector<Override> overrides;
};

}  // namespace tandem
