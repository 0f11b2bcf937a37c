// Fuzzes safetensors files, whole or only their header, to which a correct length is added. Every
// tensor that is read must be within the file's memory; any other input must give an Error.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/safetensors.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kDataBytes = 96;  // behind a header without a length

// A complete file around `header`, padded to the length that the format requires.
std::string WithLength(std::string_view header) {
  std::string padded(header);
  padded.resize((header.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<std::uint64_t>(padded.size());
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + padded + std::string(kDataBytes, '\1');
}

// Reads the file from memory of exactly its size, so that reads beyond it are detected.
void Read(std::string_view text) {
  const std::vector<std::byte> file(reinterpret_cast<const std::byte*>(text.data()),
                                    reinterpret_cast<const std::byte*>(text.data()) + text.size());
  std::size_t tensor_bytes = 0;
  for (const StoredTensor& tensor : ReadSafetensors(file).tensors) {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.sizes) count *= size;
    if (static_cast<std::size_t>(count) * BytesOf(tensor.type) != tensor.bytes.size()) std::abort();
    volatile unsigned sum = 0;
    for (const std::byte byte : tensor.bytes) sum = sum + static_cast<unsigned>(byte);
    tensor_bytes += tensor.bytes.size();
  }
  if (tensor_bytes > file.size()) std::abort();
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    tandem::Read(text.starts_with('{') ? tandem::WithLength(text) : std::string(text));
  } catch (const tandem::Error&) {
  }
  return 0;
}
