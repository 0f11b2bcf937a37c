// Batches of which a part is generated and a part is read.
#pragma once

#include <memory>

#include "train/data_loader.h"

namespace tandem {

/// Each batch is one of `live`, which gets the rows of the update, and one of `stored`, end to end.
class InterleavedLoader final : public DataLoader {
 public:
  /// Both hand out batches of their share of the rows, and must outlive this.
  InterleavedLoader(DataLoader& live, DataLoader& stored) : live_(live), stored_(stored) {}

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  DataLoader& live_;
  DataLoader& stored_;
};

}  // namespace tandem
