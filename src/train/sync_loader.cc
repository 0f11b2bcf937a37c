#include "train/sync_loader.h"

#include "base/timeline.h"
#include "generate/generator.h"
#include "train/gather.h"

namespace tandem {

class SyncLoader::Iterator final : public BatchIterator {
 public:
  Iterator(SyncLoader& loader, const DataBuffer& rows, std::int64_t update)
      : loader_(loader), rows_(rows), order_(OrderOf(rows.rows(), loader.options_.seed, update)) {}

  ~Iterator() override {
    for (std::size_t i = 0; i < std::min(handed_out_, loader_.slots_.size()); ++i) {
      loader_.slots_[i]->Release();
    }
  }

  Batch Next() override {
    TransferSlot& slot = *loader_.slots_[handed_out_ % loader_.slots_.size()];
    if (handed_out_ >= loader_.slots_.size()) slot.Release();
    {
      const Span span(Phase::kWaitForDevice);
      slot.AwaitHost();
    }
    const auto picked = order_.Next(static_cast<std::size_t>(loader_.options_.batch_size));
    Gather(rows_, picked, slot);
    {
      const Span span(Phase::kHostToDevice);
      slot.EnqueueCopy();
      slot.AwaitCopy();
    }
    ++handed_out_;
    return BatchIn(slot, std::ssize(picked));
  }

 private:
  SyncLoader& loader_;
  const DataBuffer& rows_;
  LazyShuffle order_;
  std::size_t handed_out_ = 0;
};

SyncLoader::SyncLoader(Device& device, const Schema& schema, LoaderOptions options)
    : options_(options),
      slots_(device.MakeSlots(kNumSlots, BatchTensors(schema, options.batch_size), options.slots)) {
}

std::unique_ptr<BatchIterator> SyncLoader::Open(const DataBuffer& rows, std::int64_t update) {
  return std::make_unique<Iterator>(*this, rows, update);
}

}  // namespace tandem
