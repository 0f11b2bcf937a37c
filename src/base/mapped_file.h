// Files that are mapped into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/open_file.h"

namespace tandem {

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
