// A loader that joins generated and stored examples in each batch.
#pragma once

#include <memory>

#include "train/data_loader.h"

namespace tandem {

/// InterleavedLoader joins two loaders: each of its batches is a batch of `live` followed by a
/// batch of `stored`. `live` gets the rows of the update.
class InterleavedLoader final : public DataLoader {
 public:
  /// Both must outlive this object. The batch size of each is its share of the joint batch.
  InterleavedLoader(DataLoader& live, DataLoader& stored) : live_(live), stored_(stored) {}

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  DataLoader& live_;
  DataLoader& stored_;
};

}  // namespace tandem
