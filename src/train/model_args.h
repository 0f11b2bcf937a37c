// The arguments that name the trained networks to use.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace tandem {

/// `ModelArgs` names networks that `tandem train` trained, and changes to their runs' configs. More
/// than one network are used as their mean.
struct ModelArgs {
  std::string run;
  std::string checkpoint = "last";  ///< "last", "best" or a file
  std::vector<Override> overrides;
  std::vector<std::string> more_runs;         ///< other runs whose networks are used too
  std::vector<std::string> more_checkpoints;  ///< other checkpoints of each run that are used too
};

}  // namespace tandem
