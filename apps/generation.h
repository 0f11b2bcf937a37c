// The part of `tandem generate` that does not depend on whether a network labels the rows.
#pragma once

#include <string>

#include "apps/commands.h"
#include "generate/generate_shards.h"
#include "generate/generator.h"

namespace tandem {

/// Writes the shards and returns the exit code. `config` must have no `auto` left. `network` may be
/// null if the target needs none. SpecOfSet describes `weights_sha256` and `instruction_set`.
int GenerateWith(const GenerateArgs& args, const Config& config, const Domain& domain,
                 Evaluator* network, const std::string& weights_sha256,
                 const std::string& instruction_set = "");

}  // namespace tandem
