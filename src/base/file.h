// Files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tandem {

/// A file in the making. What is written goes to a file beside `path`; Commit makes it durable
/// (fsync) and renames it to `path`, following a symbolic link there. Without Commit the file
/// beside is removed and whatever stood at `path` is untouched. Where `path` is no regular file (a
/// device, a pipe) there is nothing to keep whole, and it is written directly.
class AtomicFile {
 public:
  /// Throws Error that names the path and the system's reason, as all methods do.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void Write(std::string_view content);

  /// Writes over what was written before: bytes [offset, offset + content.size()) of it.
  void Overwrite(std::int64_t offset, std::string_view content);
  void Commit();

 private:
  std::filesystem::path path_;   // what the file will be called
  std::filesystem::path aside_;  // what is written; path_ itself where that is no regular file
  std::ofstream out_;
  bool committed_ = false;
};

/// Writes a whole file with AtomicFile.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

/// The whole file. Throws InputError that names the path and the system's reason.
std::string ReadFile(const std::filesystem::path& path);

/// The same of a text, without the byte order mark that some editors put before it.
std::string ReadText(const std::filesystem::path& path);

}  // namespace tandem
