#include "archive/zip_records.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::size_t kEnd64LocatorBytes = 20;
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint64_t kMaxRecords = 1'000'000;

// The 32-bit value that says that the number is in a zip64 field, with 64 bits.
constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;

Bytes Part(Bytes bytes, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    throw Error(fmt::format("{} is beyond the end of the file", what));
  }
  return bytes.subspan(offset, size);
}

template <class Number>
Number At(Bytes bytes, std::uint64_t offset, const char* what) {
  Number number;
  std::memcpy(&number, Part(bytes, offset, sizeof(number), what).data(), sizeof(number));
  return number;
}

// The offset of the archive's end record. The record and its comment end where the file ends.
std::size_t EndOf(Bytes archive) {
  constexpr const char* kWhat = "the end of the zip archive";
  constexpr std::size_t kMaxCommentBytes = std::numeric_limits<std::uint16_t>::max();
  for (std::size_t comment = 0; comment <= kMaxCommentBytes; ++comment) {
    if (archive.size() < kZipEndBytes + comment) break;
    const std::size_t at = archive.size() - kZipEndBytes - comment;
    if (At<std::uint32_t>(archive, at, kWhat) == kEnd &&
        At<std::uint16_t>(archive, at + 20, kWhat) == comment) {
      return at;
    }
  }
  throw Error("it is incomplete: the zip archive has no end record");
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t records = 0;
};

Directory DirectoryOf(Bytes archive) {
  constexpr const char* kWhat = "the zip archive's directory";
  const std::size_t end = EndOf(archive);
  const std::size_t locator = end - kEnd64LocatorBytes;
  if (end >= kEnd64LocatorBytes && At<std::uint32_t>(archive, locator, kWhat) == kEnd64Locator) {
    const auto end64 = At<std::uint64_t>(archive, locator + 8, kWhat);
    const Bytes fields = Part(archive, end64, 56, kWhat);
    if (At<std::uint32_t>(fields, 0, kWhat) != kEnd64) throw Error("its zip64 end is damaged");
    return {.offset = At<std::uint64_t>(fields, 48, kWhat),
            .records = At<std::uint64_t>(fields, 32, kWhat)};
  }
  return {.offset = At<std::uint32_t>(archive, end + 16, kWhat),
          .records = At<std::uint16_t>(archive, end + 10, kWhat)};
}

// An entry of the directory.
struct Entry {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t header = 0;  // offset of the local header
  std::uint64_t bytes = 0;   // size of the entry itself
};

// Reads the zip64 field, which contains only the numbers that need 64 bits, in this order.
void ReadZip64Field(Bytes extra, Entry& entry, std::uint64_t& compressed) {
  constexpr const char* kWhat = "a zip64 field";
  for (std::uint64_t at = 0; at + 4 <= extra.size();) {
    const auto size = At<std::uint16_t>(extra, at + 2, kWhat);
    const Bytes field = Part(extra, at + 4, size, kWhat);
    if (At<std::uint16_t>(extra, at, kWhat) == kZip64Field) {
      std::uint64_t next = 0;
      for (std::uint64_t* number : {&entry.size, &compressed, &entry.header}) {
        if (*number != kElsewhere) continue;
        *number = At<std::uint64_t>(field, next, kWhat);
        next += sizeof(std::uint64_t);
      }
      return;
    }
    at += 4 + size;
  }
}

Entry EntryAt(Bytes archive, std::uint64_t offset) {
  constexpr const char* kWhat = "an entry of the zip archive's directory";
  const Bytes header = Part(archive, offset, 46, kWhat);
  if (At<std::uint32_t>(header, 0, kWhat) != kCentralHeader) {
    throw Error("the zip archive's directory is damaged");
  }
  const auto name_bytes = At<std::uint16_t>(header, 28, kWhat);
  const auto extra_bytes = At<std::uint16_t>(header, 30, kWhat);
  const auto comment_bytes = At<std::uint16_t>(header, 32, kWhat);
  Entry entry{
      .name = std::string(TextOf(Part(archive, offset + 46, name_bytes, kWhat))),
      .size = At<std::uint32_t>(header, 24, kWhat),
      .header = At<std::uint32_t>(header, 42, kWhat),
      .bytes = std::uint64_t{46} + name_bytes + extra_bytes + comment_bytes,
  };
  std::uint64_t compressed = At<std::uint32_t>(header, 20, kWhat);
  ReadZip64Field(Part(archive, offset + 46 + name_bytes, extra_bytes, kWhat), entry, compressed);
  if (At<std::uint16_t>(header, 10, kWhat) != 0 || compressed != entry.size) {
    throw Error("a record is compressed, expected records as torch.save stores them");
  }
  if ((At<std::uint16_t>(header, 8, kWhat) & kEncrypted) != 0) {
    throw Error("a record is encrypted, expected records as torch.save stores them");
  }
  return entry;
}

Bytes RecordOf(Bytes archive, const Entry& entry) {
  constexpr const char* kWhat = "a record of the zip archive";
  const Bytes header = Part(archive, entry.header, 30, kWhat);
  if (At<std::uint32_t>(header, 0, kWhat) != kLocalHeader) {
    throw Error("a record of the zip archive has no header");
  }
  const std::uint64_t before = std::uint64_t{30} + At<std::uint16_t>(header, 26, kWhat) +
                               At<std::uint16_t>(header, 28, kWhat);
  return Part(archive.subspan(entry.header), before, entry.size, kWhat);
}

}  // namespace

ZipRecords::ZipRecords(Bytes archive) {
  constexpr std::string_view kPickle = "data.pkl";
  const Directory directory = DirectoryOf(archive);
  if (directory.records > kMaxRecords) {
    throw Error(
        fmt::format("it has {} records, expected at most {}", directory.records, kMaxRecords));
  }
  int pickles = 0;
  std::uint64_t offset = directory.offset;
  for (std::uint64_t i = 0; i < directory.records; ++i) {
    const Entry entry = EntryAt(archive, offset);
    if (!records_.emplace(entry.name, RecordOf(archive, entry)).second) {
      throw Error("two records of the zip archive have the same name");
    }
    const std::size_t slash = entry.name.find('/');
    if (slash != std::string::npos && std::string_view(entry.name).substr(slash + 1) == kPickle) {
      folder_ = entry.name.substr(0, slash + 1);
      ++pickles;
    }
    offset += entry.bytes;
  }
  if (pickles != 1) {
    throw Error(fmt::format("it has {} records named data.pkl, expected 1", pickles));
  }
}

std::optional<Bytes> ZipRecords::Find(std::string_view name) const {
  const auto found = records_.find(folder_ + std::string(name));
  if (found == records_.end()) return std::nullopt;
  return found->second;
}

std::string_view ZipComment(Bytes archive) {
  return TextOf(archive.subspan(EndOf(archive) + kZipEndBytes));
}

std::string ZipEndWithComment(std::string_view end, std::size_t comment_bytes) {
  std::string changed(end);
  if (end.size() != kZipEndBytes || comment_bytes > std::numeric_limits<std::uint16_t>::max()) {
    throw Error("the zip archive does not end as expected");
  }
  const auto bytes = static_cast<std::uint16_t>(comment_bytes);
  std::memcpy(changed.data() + 20, &bytes, sizeof(bytes));
  return changed;
}

}  // namespace tandem
