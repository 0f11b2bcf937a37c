// Reads the zip archives that torch.save and LibTorch write, whose records are not compressed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "archive/pickle.h"
#include "base/hash.h"

namespace tandem {

/// ZipRecords finds the records of a zip archive in memory, by name. Records refer to that memory,
/// which must outlive them.
class ZipRecords {
 public:
  /// Throws Error that says what is wrong, without the name of the file, if the archive is
  /// incomplete, if a record is outside it, compressed or encrypted, or if two have the same name.
  explicit ZipRecords(std::span<const std::byte> archive);

  std::optional<std::span<const std::byte>> Find(const std::string& name) const;

  /// The folder within the archive that holds `data.pkl`, with its slash: "archive/". Throws Error
  /// if there is not exactly one.
  const std::string& folder() const { return folder_; }

 private:
  std::unordered_map<std::string, std::span<const std::byte>> records_;
  std::string folder_;
};

/// The comment of the archive, which is the text after its end record; "" if there is none. Other
/// programs ignore it. Throws Error if the archive has no end record.
std::string_view ZipComment(std::span<const std::byte> archive);

/// The size in bytes of an archive's end record without a comment.
inline constexpr std::size_t kZipEndBytes = 22;

/// Returns `end`, the end record of an archive without a comment, changed to announce a comment of
/// `comment_bytes` bytes. Throws Error if `end` has another size.
std::string ZipEndWithComment(std::string_view end, std::size_t comment_bytes);

/// Reads a tensor file whose contents are `file`. The tensors of the result refer to that memory.
/// If the file has a hash, it is checked first. A hostile file can have a correct hash, so for any
/// bytes the tensors stay within `file`, and the result stays within PickleLimits. Throws Error
/// that says what is wrong, without the name of the file.
PickledDict ReadTensorArchive(std::span<const std::byte> file);

/// HashedArchive writes a zip archive from front to back and adds the hash to it.
class HashedArchive {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit HashedArchive(Write write) : write_(std::move(write)) {}

  void Add(std::string_view bytes);

  /// Ends the archive, which must be complete and without a comment.
  void Finish();

 private:
  void Put(std::string_view bytes);

  Write write_;
  Hash hash_;
  std::string held_;  // the last bytes, not yet written: Finish changes the end of the archive
};

}  // namespace tandem
