// Batches of which a part is generated and a part is read.
#pragma once

#include <memory>

#include "train/batch_source.h"

namespace tandem {

/// Each batch is one of `live`, which gets the rows of the update, and one of `stored`, end to end.
class MixedLoader final : public BatchLoader {
 public:
  /// Both hand out batches of their share of the rows, and must outlive this.
  MixedLoader(BatchLoader& live, BatchLoader& stored) : live_(live), stored_(stored) {}

  std::unique_ptr<BatchSource> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  BatchLoader& live_;
  BatchLoader& stored_;
};

}  // namespace tandem
