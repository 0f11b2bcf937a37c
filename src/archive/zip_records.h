// The zip archives that torch.save and LibTorch write: records that are stored without compression.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tandem {

/// The records of a zip archive in memory, by name. They are views of that memory, which must
/// outlive them.
class ZipRecords {
 public:
  /// Throws Error that says what is wrong, without the name of the file: the archive is torn, a
  /// record lies beyond its end, is compressed or encrypted, or two have one name.
  explicit ZipRecords(std::span<const std::byte> archive);

  std::optional<std::span<const std::byte>> Find(const std::string& name) const;

  /// The folder within the archive that holds `data.pkl`, with its slash: "archive/". Throws Error
  /// if there is not exactly one.
  const std::string& folder() const { return folder_; }

 private:
  std::unordered_map<std::string, std::span<const std::byte>> records_;
  std::string folder_;
};

/// The text behind the archive's last structure, which other programs ignore; "" if there is none.
/// Throws Error if the archive has no such structure at its end.
std::string_view ZipComment(std::span<const std::byte> archive);

/// Bytes of the structure that ends an archive without a comment.
inline constexpr std::size_t kZipEndBytes = 22;

/// The structure that ends an archive without a comment, changed to announce one of so many bytes.
std::string ZipEndWithComment(std::string_view end, std::size_t comment_bytes);

}  // namespace tandem
