// Reads the pickles of tensors that torch.save and LibTorch write, without running any code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "archive/stored_dict.h"

namespace tandem {

/// PickleLimits limits the contents of a pickle, so that a small file cannot use much memory or
/// time.
struct PickleLimits {
  std::size_t bytes = std::size_t{16} << 20;       ///< size of the pickle
  std::size_t values = 1'000'000;                  ///< values created, including intermediate ones
  std::size_t text_bytes = std::size_t{64} << 20;  ///< size of all texts; repetitions count
  int nesting = 16;                                ///< depth of nested dictionaries and tuples
  std::size_t dimensions = 8;                      ///< dimensions of a tensor
  std::uint64_t tensor_bytes = 0;                  ///< size of all tensors together
};

/// Finds the bytes of a storage by its key ("0"); nullopt if the file has no such record.
using StorageFinder =
    std::function<std::optional<std::span<const std::byte>>(std::string_view key)>;

/// Reads a pickle whose value is a dictionary from names to tensors, numbers, texts and
/// dictionaries. Accepts only the opcodes and names that such a dictionary needs. Throws Error that
/// says what is wrong and at which byte, without the name of the file.
StoredDict ReadPickle(std::string_view pickle, const StorageFinder& storages,
                      const PickleLimits& limits);

}  // namespace tandem
