// Files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tandem {

/// A file in the making. What is written goes to a file beside `path`; Commit makes it durable
/// (fsync) and renames it to `path`, following a symbolic link there. Without Commit the file
/// beside is removed and whatever stood at `path` is untouched. Where `path` is no regular file (a
/// device, a pipe) there is nothing to keep whole, and it is written directly.
class AtomicFile {
 public:
  /// Throws Error that names the path and the system's reason, as all methods do. After a failure
  /// only Truncate and the destructor may be called.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Hands the content to the system before it returns.
  void Write(std::string_view content);

  /// Bytes of the calls of Write that succeeded.
  std::int64_t size() const { return size_; }

  /// Keeps only the first `bytes` bytes, at most size(). Works on a full disk; after it the file
  /// can be committed even if a call of Write has failed. Does nothing to a device or a pipe.
  void Truncate(std::int64_t bytes);

  /// Writes over what was written before: bytes [offset, offset + content.size()) of it.
  void Overwrite(std::int64_t offset, std::string_view content);
  void Commit();

 private:
  template <class Call>
  void WriteAll(std::string_view content, const Call& write) const;

  std::filesystem::path path_;   // what the file will be called
  std::filesystem::path aside_;  // what is written; path_ itself where that is no regular file
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  bool committed_ = false;
};

/// Writes a whole file with AtomicFile.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

/// The whole file. Throws InputError that names the path and the system's reason.
std::string ReadFile(const std::filesystem::path& path);

/// ReadFile of a text, without the byte order mark that some editors put before it.
std::string ReadText(const std::filesystem::path& path);

/// Throws InputError that names the path if it is a pipe or a device. Whoever opens a pipe to read
/// it can wait without end. A folder passes, and so does a path where nothing is.
void RequireNoPipe(const std::filesystem::path& path);

}  // namespace tandem
