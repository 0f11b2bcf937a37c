// How most tests evaluate a network.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace tandem {

/// Evaluation by LibTorch's operators on one thread, `batch_size` rows at a time.
inline InferenceConfig ByOperators(std::int64_t batch_size,
                                   Precision precision = Precision::kFp32) {
  return {.batch_size = batch_size,
          .threads = 1,
          .precision = precision,
          .backend = BackendKind::kReference};
}

}  // namespace tandem
