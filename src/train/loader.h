// How batches get to the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/train_config.h"
#include "nn/device.h"
#include "train/data_loader.h"

namespace tandem {

/// The name of training's thread, in traces and accounts.
inline constexpr const char* kPrefetchThread = "prefetch";

struct LoaderOptions {
  std::int64_t batch_size = 1;  ///< rows; the last batch of a buffer may be smaller
  std::int64_t depth =
      PrefetchConfig{}.depth;  ///< batches made ready ahead of the one handed out, with prefetch
  std::uint64_t seed = 0;      ///< of the order of rows
  SlotOptions slots;
  std::string thread_name = kPrefetchThread;  ///< where there is one
};

/// What a config's section says.
SlotOptions SlotOptionsFor(const PrefetchConfig& config);

/// The same, for batches of `batch_size`.
LoaderOptions LoaderOptionsFor(const PrefetchConfig& config, std::int64_t batch_size,
                               std::uint64_t seed);

/// The batches that its loader has memory for.
std::int64_t NumSlots(const PrefetchConfig& config);

/// The loader of a run or a validation: with prefetch a PrefetchLoader, else a SyncLoader. Both
/// hand out the same batches. `device` must outlive it.
std::unique_ptr<DataLoader> MakeLoader(Device& device, const Schema& schema, bool prefetch,
                                       LoaderOptions options);

}  // namespace tandem
