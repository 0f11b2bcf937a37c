// The pickles of tensors that torch.save and LibTorch write, read without running any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem {

enum class StoredType : std::uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8
};

std::size_t BytesOf(StoredType type);

/// A tensor in a file. Every element lies within `bytes`: the element at index (i, j, ...) begins
/// at element i * strides[0] + j * strides[1] + ... of it. The first byte is aligned to
/// BytesOf(type).
struct StoredTensor {
  StoredType type = StoredType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements, 0 or more
  std::span<const std::byte> bytes;   ///< from the first element to the last; of the file's memory
};

struct PickledEntry;

/// A dictionary. Names are unique, and entries keep the order of the file.
struct PickledDict {
  std::vector<PickledEntry> entries;
};

/// std::monostate is Python's None.
using PickledValue = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                  StoredTensor, PickledDict>;

struct PickledEntry {
  std::string name;
  PickledValue value;
};

/// Bounds of what a pickle may hold, so that a small file cannot take much memory or time.
struct PickleLimits {
  std::size_t bytes = std::size_t{16} << 20;       ///< of the pickle
  std::size_t values = 1'000'000;                  ///< that are made on the way
  std::size_t text_bytes = std::size_t{64} << 20;  ///< of all texts, repetitions included
  int nesting = 16;                                ///< of dictionaries and tuples
  std::size_t dimensions = 8;                      ///< of a tensor
  std::uint64_t tensor_bytes = 0;                  ///< of all tensors together
};

/// Finds the bytes of a storage by its key ("0"); nullopt if the file has no such record.
using StorageFinder =
    std::function<std::optional<std::span<const std::byte>>(std::string_view key)>;

/// Reads a pickle whose value is a dictionary from names to tensors, numbers, texts and
/// dictionaries. Only the opcodes and the names that such a dictionary needs are known. Throws
/// Error that says what is wrong and at which byte, without the name of the file.
PickledDict ReadPickle(std::string_view pickle, const StorageFinder& storages,
                       const PickleLimits& limits);

}  // namespace tandem
