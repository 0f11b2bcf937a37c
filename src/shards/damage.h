// What is thrown where a shard is not what was written.
#pragma once

#include "tandem/error.h"

namespace tandem {

/// Names the file, the chunk if one is meant, and what is wrong.
class DamagedShard : public Error {
 public:
  using Error::Error;
};

}  // namespace tandem
