// Examples from games that the network plays against itself.
#pragma once

#include <memory>

#include "generate/generator.h"

namespace tandem {

/// Makes the generator of generate.target self_play. Throws InputError if `domain` is not a game,
/// and Error if `network` has no policy and values.
std::unique_ptr<Generator> MakeSelfPlayGenerator(const Domain& domain, Evaluator& network,
                                                 const Config& config);

}  // namespace tandem
