#include "train/interleaved_loader.h"

#include <ATen/ops/cat.h>

#include <utility>

namespace tandem {
namespace {

class Iterator final : public BatchIterator {
 public:
  Iterator(std::unique_ptr<BatchIterator> live, std::unique_ptr<BatchIterator> stored)
      : live_(std::move(live)), stored_(std::move(stored)) {}

  // at::cat copies, so the result does not refer to the memory of the two batches.
  Batch Next() override {
    const Batch live = live_->Next();
    const Batch stored = stored_->Next();
    return {.inputs = at::cat({live.inputs, stored.inputs}),
            .targets = at::cat({live.targets, stored.targets})};
  }

 private:
  std::unique_ptr<BatchIterator> live_, stored_;
};

}  // namespace

std::unique_ptr<BatchIterator> InterleavedLoader::Open(const DataBuffer& rows,
                                                       std::int64_t update) {
  return std::make_unique<Iterator>(live_.Open(rows, update), stored_.Open(rows, update));
}

}  // namespace tandem
