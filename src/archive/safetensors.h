// Safetensors files (https://github.com/huggingface/safetensors): the length of a header, the
// header as JSON, and the bytes of the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "archive/stored_dict.h"

namespace tandem {

/// Safetensors is the content of a file.
struct Safetensors {
  StoredDict tensors;  ///< StoredTensor only, in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// Reads a file whose contents are `file`, which must be aligned to 8 bytes. The tensors of the
/// result refer to that memory. The file may be hostile: as the format requires, the tensors cover
/// all bytes after the header, and none overlap. Throws Error that says what is wrong, without the
/// name of the file.
Safetensors ReadSafetensors(std::span<const std::byte> file);

/// TensorEntry is the name and shape of a tensor in a file.
struct TensorEntry {
  std::string name;
  StoredType type = StoredType::kFloat32;
  std::vector<std::int64_t> sizes;
};

/// Returns the part of a file before the tensors, whose bytes must follow in the order of
/// `tensors`. Throws Error if a tensor would not be aligned to its elements, so those with larger
/// elements must come first.
std::string SafetensorsHeader(const std::vector<TensorEntry>& tensors,
                              const std::map<std::string, std::string>& metadata);

}  // namespace tandem
