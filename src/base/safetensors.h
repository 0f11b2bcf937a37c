// Safetensors files (https://github.com/huggingface/safetensors): the length of a header, the
// header as JSON, and the bytes of the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"

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
std::size_t BytesOf(StoredType type);

/// TensorEntry is the name and shape of a tensor in a file.
struct TensorEntry {
  std::string name;
  StoredType type = StoredType::kFloat32;
  std::vector<std::int64_t> sizes;
};

/// StoredTensor is a tensor in a file, in row-major order, aligned to BytesOf(type).
struct StoredTensor : TensorEntry {
  std::span<const std::byte> bytes;  ///< refers to the file's memory
};

/// Safetensors is the content of a file.
struct Safetensors {
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// The first metadata of a file that Tandem writes: the Hash of the tensors' bytes and of the file
/// before them. In the latter, zeros stand for the digits of the hash.
inline constexpr std::string_view kFileHash = "xxh3";
inline const std::string kNoFileHash(kHashDigits, '0');

/// Reads a file whose contents are `file`, which must be aligned to 8 bytes. If the file has a hash
/// of its contents, checks it first. The file may be hostile: as the format requires, the tensors
/// cover all bytes after the header, and none overlap. Throws Error that says what is wrong,
/// without the name of the file.
Safetensors ReadSafetensors(std::span<const std::byte> file);

/// Returns the part of a file before the bytes of the tensors, which must follow in this order.
/// Throws Error if a tensor would not be aligned, so those with larger elements must come first.
std::string SafetensorsHeader(const std::vector<TensorEntry>& tensors,
                              const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace tandem
