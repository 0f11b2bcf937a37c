// The records of a zip archive in memory.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

/// ZipRecords finds the records of a zip archive that torch.save wrote, by name. Records refer to
/// the archive's memory, which must outlive them.
class ZipRecords {
 public:
  /// The archive may be hostile. Throws Error that says what is wrong, without the name of the
  /// file, if the archive is incomplete, if a record is outside it, compressed or encrypted, if two
  /// have the same name, or if there is not exactly one `data.pkl`.
  explicit ZipRecords(std::span<const std::byte> archive);

  /// Finds a record in the folder that holds `data.pkl`.
  std::optional<std::span<const std::byte>> Find(std::string_view name) const;

 private:
  std::map<std::string, std::span<const std::byte>> records_;
  std::string folder_;  // with its slash: "archive/"
};

/// The size in bytes of an archive's end record without a comment.
inline constexpr std::size_t kZipEndBytes = 22;

/// The comment of an archive, which is the text after its end record. Other programs ignore it.
/// Throws Error if the archive has no end record.
std::string_view ZipComment(std::span<const std::byte> archive);

/// Returns `end`, the end record of an archive without a comment, changed to announce a comment of
/// `comment_bytes` bytes. Throws Error if `end` is not such a record or the comment is too long.
std::string ZipEndWithComment(std::string_view end, std::size_t comment_bytes);

}  // namespace tandem
