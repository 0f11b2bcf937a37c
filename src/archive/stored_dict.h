// The contents of a weight file: a dictionary of tensors, numbers, texts and dictionaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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

/// The size of an element in bytes.
constexpr std::size_t BytesOf(StoredType type) {
  switch (type) {
    case StoredType::kFloat64:
    case StoredType::kInt64:
      return 8;
    case StoredType::kFloat32:
    case StoredType::kInt32:
      return 4;
    case StoredType::kFloat16:
    case StoredType::kBFloat16:
    case StoredType::kInt16:
      return 2;
    case StoredType::kInt8:
    case StoredType::kUint8:
      return 1;
  }
  return 0;  // not reached: the compiler warns of a missing case
}

/// StoredTensor is a tensor in a file. The element at index (i, j, ...) is element
/// i * strides[0] + j * strides[1] + ... of `bytes`; all elements are within `bytes`. The first
/// byte is aligned to BytesOf(type).
struct StoredTensor {
  StoredType type = StoredType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements, 0 or more
  std::span<const std::byte> bytes;   ///< first to last element; refers to the file's memory
};

struct StoredEntry;

/// StoredDict is a dictionary. Names are unique, and entries are in the order of the file.
struct StoredDict {
  std::vector<StoredEntry> entries;
};

/// StoredValue is the value of an entry. std::monostate stands for Python's None.
using StoredValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, StoredTensor, StoredDict>;

struct StoredEntry {
  std::string name;
  StoredValue value;
};

}  // namespace tandem
