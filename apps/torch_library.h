// Opens libtandem_torch on first use: loading LibTorch takes half a second, which `tandem --help`
// should not.
#pragma once

#include <memory>

#include "apps/commands.h"
#include "apps/hint_provider.h"

namespace tandem {

/// Throw Error if the library does not load, as those below.
int RunTrain(const TrainArgs& args);
int RunSolve(const SolveArgs& args);

/// `tandem generate` for targets that ask a network.
int RunGenerateWithNetwork(const GenerateArgs& args);

/// The network of a run, for `tandem play`. Throws InputError if the run does not hold one.
std::unique_ptr<HintProvider> OpenHintProvider(const ModelArgs& args);

}  // namespace tandem
