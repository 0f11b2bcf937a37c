// The exception for damaged shards.
#pragma once

#include "tandem/error.h"

namespace tandem {

/// DamagedShard is thrown if a shard's bytes are not the ones that were written. Its message names
/// the file, the chunk if only that is damaged, and what is wrong.
class DamagedShard : public Error {
 public:
  using Error::Error;
};

}  // namespace tandem
