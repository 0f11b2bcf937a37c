// Opens libtandem_torch on first use: loading LibTorch takes half a second, which `tandem --help`
// should not.
#pragma once

#include "apps/commands.h"

namespace tandem {

/// Throw Error if the library does not load.
int RunTrain(const TrainArgs& args);
int RunSolve(const SolveArgs& args);

/// `tandem generate` for targets that ask a network.
int RunGenerateWithNetwork(const GenerateArgs& args);

}  // namespace tandem
