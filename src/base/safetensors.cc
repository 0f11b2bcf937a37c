#include "base/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;  // only to write: it looks names up one by one

constexpr std::uint64_t kLengthBytes = 8;  // of the number before the header
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMostDimensions = 8;
constexpr std::uint64_t kAlignment = 8;
constexpr const char* kMetadata = "__metadata__";

// The names of the types, in the order of StoredType.
constexpr std::array<std::string_view, 9> kTypes = {"F64", "F32", "F16", "BF16", "I64",
                                                    "I32", "I16", "I8",  "U8"};

// Shortens a name from a file for error messages, and escapes what cannot be printed.
std::string Shown(const std::string& name) {
  constexpr std::size_t kMost = 60;
  return DumpJson(nlohmann::json(name.substr(0, kMost)));
}

[[noreturn]] void FailFor(const std::string& name, std::string_view why) {
  throw Error(fmt::format("tensor {}: {}", Shown(name), why));
}

const json& At(const std::string& name, const json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end()) FailFor(name, fmt::format("{} is missing", key));
  return *found;
}

std::vector<std::uint64_t> NumbersAt(const std::string& name, const json& entry, const char* key) {
  const json& list = At(name, entry, key);
  if (!list.is_array()) FailFor(name, fmt::format("{} is not a list", key));
  std::vector<std::uint64_t> numbers;
  for (const json& each : list) {
    if (!each.is_number_unsigned()) {
      FailFor(name, fmt::format("{} has more than whole numbers", key));
    }
    numbers.push_back(each.get<std::uint64_t>());
  }
  return numbers;
}

// What the header says about a tensor, whose bytes are [begin, end) after the header.
struct Entry {
  TensorEntry tensor;
  std::uint64_t begin = 0, end = 0;
};

Entry EntryOf(const std::string& name, const json& json_entry) {
  if (!json_entry.is_object()) FailFor(name, "its entry is not an object");
  const json& type = At(name, json_entry, "dtype");
  const auto* const found =
      type.is_string() ? std::ranges::find(kTypes, type.get<std::string>()) : kTypes.end();
  if (found == kTypes.end()) FailFor(name, "its dtype is not one that Tandem reads");
  Entry entry{.tensor = {.name = name, .type = static_cast<StoredType>(found - kTypes.begin())}};
  const std::vector<std::uint64_t> shape = NumbersAt(name, json_entry, "shape");
  if (shape.size() > kMostDimensions) {
    FailFor(name, fmt::format("it has {} dimensions, expected at most {}", shape.size(),
                              kMostDimensions));
  }
  for (const std::uint64_t size : shape) {
    if (!std::in_range<std::int64_t>(size)) FailFor(name, "a dimension is too large");
    entry.tensor.sizes.push_back(static_cast<std::int64_t>(size));
  }
  const std::vector<std::uint64_t> offsets = NumbersAt(name, json_entry, "data_offsets");
  if (offsets.size() != 2) FailFor(name, "data_offsets does not have 2 numbers");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

// Returns the number of elements; nothing if the sizes other than 0 have a product above `most`.
std::optional<std::uint64_t> CountOf(const std::vector<std::int64_t>& sizes, std::uint64_t most) {
  std::uint64_t count = 1;
  for (const std::int64_t size : sizes) {
    const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (steps > most / count) return std::nullopt;
    count *= steps;
  }
  return std::ranges::find(sizes, 0) == sizes.end() ? count : 0;
}

// Reads one tensor, whose bytes must begin at byte `begin` of `data`.
StoredTensor TensorOf(const Entry& entry, std::uint64_t begin, std::span<const std::byte> data) {
  const auto fail = [&](std::string_view why) { FailFor(entry.tensor.name, why); };
  if (entry.begin != begin) fail("its bytes overlap those of another tensor, or leave a gap");
  if (entry.end < begin || entry.end > data.size()) {
    fail("its bytes are beyond the end of the file");
  }
  const std::uint64_t width = BytesOf(entry.tensor.type);
  const std::uint64_t most = std::max<std::uint64_t>(data.size(), 1) / width;
  const auto count = CountOf(entry.tensor.sizes, std::max<std::uint64_t>(most, 1));
  if (!count) fail("its shape has more elements than the file has room for");
  if (entry.end - begin != *count * width) {
    fail("its shape and its number of bytes contradict each other");
  }
  if (begin % width != 0) {
    fail("its bytes are not aligned to its elements; save the file with a newer safetensors");
  }
  return {entry.tensor, data.subspan(begin, entry.end - begin)};
}

std::map<std::string, std::string> MetadataOf(const json& entry) {
  std::map<std::string, std::string> metadata;
  const auto fail = [] { throw Error("its __metadata__ is not an object of texts"); };
  if (!entry.is_object()) fail();
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) fail();
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// Parses the header, which may end with spaces.
json HeaderOf(std::string_view text) {
  if (!text.starts_with('{')) throw Error("its header is not a JSON object");
  try {
    return ParseJson<json>(text);
  } catch (const json::exception&) {
    throw Error("its header is not valid JSON");
  }
}

// Throws Error if the file has a hash and it differs from that of the contents. `start` is the file
// up to the bytes of its tensors, `data`. A file without a hash is accepted: other programs write
// none, and damage to the name of the hash has then changed nothing else.
void CheckHash(std::string_view start, std::string_view data) {
  static const std::string before_hash = fmt::format(R"({{"{}":{{"{}":")", kMetadata, kFileHash);
  if (!start.substr(kLengthBytes).starts_with(before_hash)) return;
  std::string unhashed(start);
  const std::size_t digits = kLengthBytes + before_hash.size();
  unhashed.replace(digits, kHashDigits, kNoFileHash);
  Hash hash;
  hash.Add(data);
  hash.Add(unhashed);
  if (start.substr(digits, kHashDigits) != hash.Hex()) {
    throw Error("its hash does not match its contents");
  }
}

}  // namespace

std::size_t BytesOf(StoredType type) {
  constexpr std::array<std::size_t, kTypes.size()> kBytes = {8, 4, 2, 2, 8, 4, 2, 1, 1};
  return kBytes[static_cast<std::size_t>(type)];
}

Safetensors ReadSafetensors(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) throw Error("it is incomplete: it has no header");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof(header_bytes));
  if (header_bytes > kMostHeaderBytes) {
    throw Error(fmt::format("its header has {} bytes, expected at most {}", header_bytes,
                            kMostHeaderBytes));
  }
  if (header_bytes > file.size() - kLengthBytes) {
    throw Error("it is incomplete: its header is beyond the end of the file");
  }
  if (header_bytes % kAlignment != 0) {
    throw Error(
        "its header does not end at a multiple of 8 bytes; save the file with a newer "
        "safetensors");
  }
  const std::span<const std::byte> data = file.subspan(kLengthBytes + header_bytes);
  const std::string_view start = TextOf(file.first(kLengthBytes + header_bytes));
  CheckHash(start, TextOf(data));
  const json header = HeaderOf(start.substr(kLengthBytes));

  Safetensors content;
  std::vector<Entry> entries;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      content.metadata = MetadataOf(entry);
    } else {
      entries.push_back(EntryOf(name, entry));
    }
  }
  // An empty tensor begins where its neighbour does, and comes before it.
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t next = 0;
  for (const Entry& entry : entries) {
    content.tensors.push_back(TensorOf(entry, next, data));
    next = entry.end;
  }
  if (next != data.size()) throw Error("there are bytes that belong to no tensor");
  return content;
}

std::string SafetensorsHeader(const std::vector<TensorEntry>& tensors,
                              const std::vector<std::pair<std::string, std::string>>& metadata) {
  ordered_json header = ordered_json::object();
  for (const auto& [key, value] : metadata) header[kMetadata][key] = value;
  std::uint64_t next = 0;
  for (const TensorEntry& tensor : tensors) {
    std::uint64_t bytes = BytesOf(tensor.type);
    if (next % bytes != 0) {
      throw Error(fmt::format("tensor {} would not be aligned; this is a bug in Tandem",
                              Shown(tensor.name)));
    }
    for (const std::int64_t size : tensor.sizes) bytes *= static_cast<std::uint64_t>(size);
    header[tensor.name] = {{"dtype", kTypes[static_cast<std::size_t>(tensor.type)]},
                           {"shape", tensor.sizes},
                           {"data_offsets", {next, next + bytes}}};
    next += bytes;
  }
  std::string text = DumpJson(header);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  std::string start(sizeof(length), '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  return start + text;
}

}  // namespace tandem
