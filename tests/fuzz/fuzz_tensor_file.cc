// Fuzzes tensor files, whole or only their pickle. Every tensor that is read must be within the
// file's memory; any other input must give an Error.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "archive/pickle.h"
#include "archive/stored_dict.h"
#include "archive/tensor_archive.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 16;

// Sums the bytes of each element, so that the address sanitizer detects reads outside the memory.
unsigned TouchAll(const StoredTensor& tensor) {
  unsigned sum = 0;
  if (tensor.bytes.empty()) return sum;
  std::vector<std::int64_t> index(tensor.sizes.size());
  const auto width = static_cast<std::int64_t>(BytesOf(tensor.type));
  for (;;) {
    std::int64_t element = 0;
    for (std::size_t i = 0; i < index.size(); ++i) element += index[i] * tensor.strides[i];
    if ((element + 1) * width > std::ssize(tensor.bytes)) std::abort();
    const std::byte* bytes = tensor.bytes.data() + element * width;
    for (std::int64_t i = 0; i < width; ++i) sum += static_cast<unsigned>(bytes[i]);
    std::size_t turned = 0;
    while (turned < index.size() && ++index[turned] == tensor.sizes[turned]) index[turned++] = 0;
    if (turned == index.size()) return sum;
  }
}

unsigned TouchAll(const StoredDict& dict) {
  unsigned sum = 0;
  for (const StoredEntry& entry : dict.entries) {
    if (const auto* tensor = std::get_if<StoredTensor>(&entry.value)) sum += TouchAll(*tensor);
    if (const auto* inner = std::get_if<StoredDict>(&entry.value)) sum += TouchAll(*inner);
  }
  return sum;
}

StoredDict ReadAsPickle(std::string_view pickle, std::span<const std::byte> storage) {
  const auto find = [&](std::string_view key) -> std::optional<std::span<const std::byte>> {
    if (key == "2") return std::nullopt;
    return storage.first(key == "1" ? 0 : storage.size());
  };
  return ReadPickle(pickle, find, {.tensor_bytes = kMostBytes});
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Memory of exactly this size, so that reads beyond it are detected.
  const std::vector<std::byte> file(reinterpret_cast<const std::byte*>(data),
                                    reinterpret_cast<const std::byte*>(data) + size);
  const std::vector<std::byte> storage(96, std::byte{1});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    volatile unsigned sum =
        tandem::TouchAll(text.starts_with("PK") ? tandem::ReadTensorArchive(file)
                                                : tandem::ReadAsPickle(text, storage));
    static_cast<void>(sum);
  } catch (const tandem::Error&) {
  }
  return 0;
}
