#include "train/prefetch_loader.h"
#include "train/sync_loader.h"

namespace tandem {

SlotOptions SlotOptionsFor(const PrefetchConfig& config) {
  return {.pinned = config.pin_memory, .copy_stream = config.copy_stream};
}

LoaderOptions LoaderOptionsFor(const PrefetchConfig& config, std::int64_t batch_size,
                               std::uint64_t seed) {
  return {.batch_size = batch_size,
          .depth = config.depth,
          .seed = seed,
          .slots = SlotOptionsFor(config)};
}

std::int64_t NumSlots(const PrefetchConfig& config) {
  return static_cast<std::int64_t>(config.enabled ? PrefetchLoader::NumSlots(config.depth)
                                                  : SyncLoader::kNumSlots);
}

std::unique_ptr<DataLoader> MakeLoader(Device& device, const Schema& schema, bool prefetch,
                                       LoaderOptions options) {
  if (!prefetch) return std::make_unique<SyncLoader>(device, schema, options);
  return std::make_unique<PrefetchLoader>(device, schema, options);
}

}  // namespace tandem
