// Creates the generator that a config selects.
#pragma once

#include <memory>

#include "config/train_config.h"
#include "generate/generator.h"
#include "tandem/evaluator.h"

namespace tandem {

/// AskedNetwork is the network that a generator queries, and whether its estimates label the rows.
struct AskedNetwork {
  Evaluator* network = nullptr;  ///< may be null only if config.generate.target is walk_length
  bool labels = true;            ///< false: the rows stay unlabelled and have StateSchema
};

/// Creates the generator for `config`. `config.generate.workers` must be a number, not auto.
/// `domain` and the network must outlive the result.
std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const TrainConfig& config,
                                         AskedNetwork asked);

}  // namespace tandem
