// Loads libtandem_torch on first use, because loading LibTorch takes half a second, and
// `tandem --help` should not take that long.
#pragma once

#include <memory>

#include "apps/commands.h"
#include "apps/hint_provider.h"

namespace tandem {

/// Run `tandem train` and `tandem solve`. Like the functions below, they throw Error if the library
/// cannot be loaded.
int RunTrain(const TrainArgs& args);
int RunSolve(const SolveArgs& args);

/// Runs `tandem generate` for targets that need a network.
int RunGenerateWithNetwork(const GenerateArgs& args);

/// Loads the network of a run for `tandem play`. Throws InputError if the run has none.
std::unique_ptr<HintProvider> OpenHintProvider(const ModelArgs& args);

}  // namespace tandem
