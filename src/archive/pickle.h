// Reads the pickles of tensors that torch.save and LibTorch write, without running any code.
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

/// The types of elements that a file may hold. Tables elsewhere are in this order.
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

/// StoredTensor is a tensor in a file. The element at index (i, j, ...) is element
/// i * strides[0] + j * strides[1] + ... of `bytes`; all elements are within `bytes`. The first
/// byte is aligned to BytesOf(type).
struct StoredTensor {
  StoredType type = StoredType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements, 0 or more
  std::span<const std::byte> bytes;   ///< first to last element; refers to the file's memory
};

struct PickledEntry;

/// PickledDict is a dictionary. Names are unique, and entries are in the order of the file.
struct PickledDict {
  std::vector<PickledEntry> entries;
};

/// PickledValue is the value of an entry. std::monostate stands for Python's None.
using PickledValue = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                  StoredTensor, PickledDict>;

struct PickledEntry {
  std::string name;
  PickledValue value;
};

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
PickledDict ReadPickle(std::string_view pickle, const StorageFinder& storages,
                       const PickleLimits& limits);

}  // namespace tandem
