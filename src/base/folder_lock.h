// Locks that keep two programs from writing into one folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace tandem {

/// FolderLock holds the lock of a folder until its last copy is destroyed or the program ends. The
/// lock hinders only programs that ask for it.
class FolderLock {
 public:
  FolderLock() = default;  ///< holds no lock

  /// Locks the folder of `file` by a lock on `file`, which is created if it is missing and must
  /// stay. NFS passes on locks of regular files that are open for writing, and keeps those of
  /// folders on the client. Throws InputError that names the folder and ends with `taken` if
  /// somebody else holds the lock, also if that is this program. If the file system has no locks, a
  /// warning says so and ends with `caution`, and the folder is used without one.
  FolderLock(const std::filesystem::path& file, std::string_view taken, std::string_view caution);

 private:
  std::shared_ptr<const int> descriptor_;
};

}  // namespace tandem
