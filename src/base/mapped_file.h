// Reading files directly and through memory maps.
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

/// MappedFile is a file that is mapped into memory.
class MappedFile {
 public:
  /// Maps a whole file for reading. The file may be closed afterwards. If another program may
  /// shorten the file, read the map only through Copy.
  explicit MappedFile(const OpenFile& file);

  /// Creates a file of `bytes` zero bytes in `folder` and maps it for reading and writing. Its disk
  /// space is reserved now. The file has no name, so the space is freed when the map is destroyed
  /// or the program ends in any way. Throws Error that names the folder.
  MappedFile(const std::filesystem::path& folder, std::size_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return {data_, size_}; }

  /// Copies to.size() bytes from `offset` on. Throws Error if the map ends before that, or if the
  /// file was shortened after it was mapped. The first call installs a handler for SIGBUS in the
  /// whole program: a fault inside Copy becomes this Error, and any other fault keeps its previous
  /// effect.
  void Copy(std::size_t offset, std::span<std::byte> to) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tandem
