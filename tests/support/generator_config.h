// Configs of generators.
#pragma once

#include "config/config.h"

namespace tandem {

/// A config with these settings; one worker if they do not say how many.
inline Config GeneratorConfig(const GenerateConfig& generate, Head head = Head::kV) {
  Config config;
  config.generate = generate;
  config.generate.workers = generate.workers.value_or(1);
  config.network.head = head;
  return config;
}

}  // namespace tandem
