// Options of the loaders of generated rows, and a factory for them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/train_config.h"
#include "nn/device.h"
#include "train/data_loader.h"

namespace tandem {

/// The name of the prefetch thread of training in traces and in the run's time profile.
inline constexpr const char* kPrefetchThread = "prefetch";

struct LoaderOptions {
  std::int64_t batch_size = 1;  ///< rows; the last batch of a buffer may be smaller
  /// With prefetch: how many batches are prepared ahead of the one in use.
  std::int64_t depth = PrefetchConfig{}.depth;
  std::uint64_t seed = 0;  ///< determines the order of rows
  SlotOptions slots;
  std::string thread_name = kPrefetchThread;  ///< with prefetch: the name of its thread
};

/// The options that the config section `prefetch` selects.
SlotOptions SlotOptionsFor(const PrefetchConfig& config);
LoaderOptions LoaderOptionsFor(const PrefetchConfig& config, std::int64_t batch_size,
                               std::uint64_t seed);

/// The number of slots, each of one batch, of the loader that `config` selects.
std::int64_t NumSlots(const PrefetchConfig& config);

/// Makes a PrefetchLoader if `prefetch` is set, else a SyncLoader. Both hand out the same batches.
/// `device` must outlive the result.
std::unique_ptr<DataLoader> MakeLoader(Device& device, const Schema& schema, bool prefetch,
                                       LoaderOptions options);

}  // namespace tandem
