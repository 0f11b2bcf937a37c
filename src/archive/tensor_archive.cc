#include "archive/tensor_archive.h"

#include <fmt/format.h>

#include <cstdint>

#include "archive/pickle.h"
#include "archive/zip_records.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Tensors may share a storage: the network of a checkpoint is often also part of its resume state.
constexpr std::uint64_t kMaxUsesPerByte = 8;

constexpr std::string_view kHashComment = "tandem xxh3 ";

void CheckHash(std::span<const std::byte> file) {
  const std::string_view comment = ZipComment(file);
  if (comment.empty()) return;  // torch.save writes none
  if (!comment.starts_with(kHashComment) || comment.size() != kHashComment.size() + kHashDigits) {
    throw Error("its zip archive ends with an unknown comment");
  }
  const std::string_view hashed = TextOf(file.first(file.size() - kHashDigits));
  if (comment.substr(kHashComment.size()) != HashOf(hashed)) {
    throw Error("its hash does not match its contents");
  }
}

}  // namespace

StoredDict ReadTensorArchive(std::span<const std::byte> file) {
  CheckHash(file);
  const ZipRecords records(file);
  const auto byte_order = records.Find("byteorder");
  if (byte_order && TextOf(*byte_order) != "little") {
    throw Error("its numbers are not little-endian");
  }
  const PickleLimits limits{.tensor_bytes = kMaxUsesPerByte * file.size()};
  return ReadPickle(
      TextOf(*records.Find("data.pkl")),
      [&](std::string_view key) { return records.Find(fmt::format("data/{}", key)); }, limits);
}

void HashedArchive::Put(std::string_view bytes) {
  hash_.Add(bytes);
  write_(bytes);
}

void HashedArchive::Add(std::string_view bytes) {
  if (bytes.size() >= kZipEndBytes) {
    Put(held_);
    Put(bytes.substr(0, bytes.size() - kZipEndBytes));
    held_ = bytes.substr(bytes.size() - kZipEndBytes);
    return;
  }
  held_ += bytes;
  if (held_.size() <= kZipEndBytes) return;
  const std::size_t surplus = held_.size() - kZipEndBytes;
  Put(std::string_view(held_).substr(0, surplus));
  held_.erase(0, surplus);
}

void HashedArchive::Finish() {
  Put(ZipEndWithComment(held_, kHashComment.size() + kHashDigits));
  Put(kHashComment);
  write_(hash_.Hex());
}

}  // namespace tandem
