// The generator that a config asks for.
#pragma once

#include <memory>

#include "config/train_config.h"
#include "generate/generator.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Who a generator asks, and what for.
struct AskedNetwork {
  Evaluator* network = nullptr;  ///< null only where config.generate.target is walk_length
  bool labels = true;            ///< what it says labels the rows; if not, they are of StateSchema
};

/// `config.generate.workers` is a number; `domain` and the network must outlive the result.
std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const TrainConfig& config,
                                         AskedNetwork asked);

}  // namespace tandem
