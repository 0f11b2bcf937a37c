// What `tandem generate` does, whether or not a network labels the rows.
#pragma once

#include <string>

#include "apps/commands.h"
#include "generate/make_generator.h"
#include "shards/generate_shards.h"

namespace tandem {

/// Generates with a config that has no `auto` left and returns the exit code. What `asked` needs is
/// as MakeGenerator and SpecOfSet say.
int GenerateWith(const GenerateArgs& args, const TrainConfig& config, const Domain& domain,
                 AskedNetwork asked, const std::string& weights_sha256,
                 const std::string& instruction_set = "");

}  // namespace tandem
