// Builds pickles and zip archives for tests, piece by piece, so that each piece can be made wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::pickles {

/// Memory that is aligned as a file's is.
struct Aligned {
  explicit Aligned(std::string_view content) : words(content.size() / 8 + 1), size(content.size()) {
    std::memcpy(words.data(), content.data(), size);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words)).first(size); }

  std::vector<std::uint64_t> words;
  std::size_t size;
};

template <class Number>
std::string Bytes(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

inline std::string Text(std::string_view text) {
  return "X" + Bytes(static_cast<std::uint32_t>(text.size())) + std::string(text);
}

inline std::string Number(std::int64_t number) {
  return std::string("\x8a\x08", 2) + Bytes(number);
}

inline std::string Tuple(const std::vector<std::string>& items) {
  std::string tuple = "(";
  for (const std::string& item : items) tuple += item;
  return tuple + "t";
}

inline std::string Numbers(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> items;
  for (const std::int64_t number : numbers) items.push_back(Number(number));
  return Tuple(items);
}

inline std::string Global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

inline std::string Storage(std::string_view type, std::string_view key, std::int64_t elements) {
  return Tuple({Text("storage"), Global("torch", type), Text(key), Text("cpu"), Number(elements)}) +
         "Q";
}

/// A call of _rebuild_tensor_v2.
inline std::string Tensor(const std::string& storage, std::int64_t offset,
                          const std::vector<std::int64_t>& sizes,
                          const std::vector<std::int64_t>& strides) {
  return Global("torch._utils", "_rebuild_tensor_v2") +
         Tuple({storage, Number(offset), Numbers(sizes), Numbers(strides), "\x89",
                Global("collections", "OrderedDict") + ")R"}) +
         "R";
}

inline std::string Dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string dict = "}(";
  for (const auto& [name, value] : entries) dict += Text(name) + value;
  return dict + "u";
}

/// The complete pickle of a value.
inline std::string Pickle(const std::string& value) {
  return std::string("\x80\x02", 2) + value + ".";
}

struct Record {
  std::string name;
  std::string content;
  std::uint16_t method = 0;                   ///< 0: stored
  std::uint32_t claimed_bytes = 0xFFFFFFFFU;  ///< size in the directory; default: the real size
};

/// A zip archive whose contents start at multiples of 64 bytes.
inline std::string Zip(const std::vector<Record>& records, std::string_view comment = "") {
  std::string zip, directory;
  for (const Record& record : records) {
    const auto name_bytes = static_cast<std::uint16_t>(record.name.size());
    const std::size_t before = zip.size() + 30 + name_bytes + 4;
    const auto padding = static_cast<std::uint16_t>((64 - before % 64) % 64 + 4);
    const auto bytes = static_cast<std::uint32_t>(record.content.size());
    const std::uint32_t claimed =
        record.claimed_bytes == 0xFFFFFFFFU ? bytes : record.claimed_bytes;
    directory += Bytes(0x02014b50U) + std::string(6, '\0') + Bytes(record.method) +
                 std::string(8, '\0') + Bytes(claimed) + Bytes(claimed) + Bytes(name_bytes) +
                 std::string(12, '\0') + Bytes(static_cast<std::uint32_t>(zip.size())) +
                 record.name;
    zip += Bytes(0x04034b50U) + std::string(4, '\0') + Bytes(record.method) + std::string(8, '\0') +
           Bytes(bytes) + Bytes(bytes) + Bytes(name_bytes) + Bytes(padding) + record.name + "FB" +
           Bytes(static_cast<std::uint16_t>(padding - 4)) + std::string(padding - 4U, 'Z') +
           record.content;
  }
  const auto at = static_cast<std::uint32_t>(zip.size());
  const auto count = static_cast<std::uint16_t>(records.size());
  return zip + directory + Bytes(0x06054b50U) + std::string(4, '\0') + Bytes(count) + Bytes(count) +
         Bytes(static_cast<std::uint32_t>(directory.size())) + Bytes(at) +
         Bytes(static_cast<std::uint16_t>(comment.size())) + std::string(comment);
}

}  // namespace tandem::pickles
