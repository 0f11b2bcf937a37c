// Files as memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "tandem/error.h"

namespace tandem {

/// The system would not do what it was asked: too many files are open, say, or access is denied.
/// That says nothing about what the file holds.
class SystemError : public Error {
 public:
  using Error::Error;
};

/// A file that is read, open while this lives.
class OpenFile {
 public:
  /// Throws Error that says the system's reason, without the path, as all methods do: SystemError
  /// unless the file is not there, ends too soon, lies where the disk cannot be read or is a
  /// folder, a pipe or a device. Never waits for a pipe.
  explicit OpenFile(const std::filesystem::path& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::int64_t size() const;

  /// Asks the system to fetch these bytes from the disk in the background.
  void WillNeed(std::int64_t offset, std::int64_t bytes) const;

  /// Reads to.size() bytes from `offset` on; throws if the file ends before.
  void Read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  const int descriptor_;
};

/// Bytes of a file in the address space.
class MappedFile {
 public:
  /// Maps all of an open file, to read. The file may be closed afterwards. If it may shrink, only
  /// Copy may read the map.
  explicit MappedFile(const OpenFile& file);

  /// Makes a file of that size in `folder`, all zeroes, to read and write. Its room on the disk is
  /// taken now, and given back with the map, however the program ends: it has no name. Throws Error
  /// that names the folder.
  MappedFile(const std::filesystem::path& folder, std::size_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return {data_, size_}; }

  /// Copies to.size() bytes from `offset` on. Throws Error if the map ends before, or if the file
  /// has been cut since it was mapped. The first call changes what the signal SIGBUS does in the
  /// whole program: a fault in Copy becomes this Error, any other has its former effect.
  void Copy(std::size_t offset, std::span<std::byte> to) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tandem
