// A file that is read from any place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "tandem/error.h"

namespace tandem {

/// SystemError means that the system refused an operation, for example because too many files are
/// open or access is denied. It says nothing about the contents of the file.
class SystemError : public Error {
 public:
  using Error::Error;
};

/// OpenFile is a file opened for reading. Its const methods may be called from several threads at
/// once.
class OpenFile {
 public:
  /// Opens the file. Never blocks on a pipe. This and all methods throw Error with the reason,
  /// without the path, if the file does not exist, ends too soon, has a disk error, or is a folder,
  /// a pipe or a device. They throw SystemError for any other reason.
  explicit OpenFile(const std::filesystem::path& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::int64_t size() const;

  /// The number of bytes that are not in holes: parts that were never written, take no disk space
  /// and read as zeros. If the file system does not say where holes are, this is the size.
  std::int64_t data_bytes() const;

  /// Asks the system to read these bytes ahead in the background.
  void WillNeed(std::int64_t offset, std::int64_t bytes) const;

  /// Reads to.size() bytes from `offset` on. Throws Error if the file ends before that.
  void Read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  const int descriptor_;
};

}  // namespace tandem
