// Reads files, writes files that appear complete or not at all, and makes and locks folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/error.h"

namespace tandem {

/// DamagedFile reports a file that cannot be read, or whose bytes are not the ones that were
/// written. Another copy of the file may still be good.
class DamagedFile : public InputError {
 public:
  using InputError::InputError;
};

/// Whether `path` names an open file of a process, as "/dev/stdout" and "/dev/fd/63" do.
bool NamesOpenFile(const std::filesystem::path& path);

/// AtomicFile writes a file that appears complete or not at all. It writes to a temporary file in
/// the same folder. Commit makes that file durable (fsync) and renames it to `path`; if `path` is a
/// symbolic link, its target is replaced. Without Commit, the temporary file is removed and `path`
/// is left untouched. A device, a pipe, and an open file (NamesOpenFile), from where it was last
/// written, are written directly.
class AtomicFile {
 public:
  /// Opens the temporary file. This and all methods throw Error that names the path and the
  /// system's reason. After a failure only Truncate and the destructor may be called.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends `content`. Unbuffered: the system has the content when this returns.
  void Write(std::string_view content);

  /// The number of bytes that successful calls of Write have written.
  std::int64_t size() const { return size_; }

  /// Keeps only the first `bytes` bytes; at most size(). Works on a full disk. Then Commit may be
  /// called even if Write has failed. Does nothing if `path` is written directly.
  void Truncate(std::int64_t bytes);

  /// Overwrites bytes [offset, offset + content.size()), which must have been written before.
  void Overwrite(std::int64_t offset, std::string_view content);

  /// Makes the file appear at `path`.
  void Commit();

 private:
  template <class Call>
  void WriteAll(std::string_view content, const Call& write) const;

  std::filesystem::path path_;   // the final name
  std::filesystem::path aside_;  // the file being written; path_ if that is written directly
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  bool committed_ = false;
};

/// PartialName is what the name of an AtomicFile's temporary file says.
struct PartialName {
  std::string_view name;  ///< of the complete file
  int process;            ///< that writes it, or has left it
};

/// Parses the name of a temporary file: "checkpoint.safetensors.1234.partial". Returns nothing for
/// other names. The result refers to `file`.
std::optional<PartialName> ParsePartialName(std::string_view file);

/// Returns the names of all entries of a folder, sorted. Entries may appear and disappear
/// meanwhile. Throws Error that names the folder.
std::vector<std::string> EntryNames(const std::filesystem::path& folder);

/// Renames a file, and replaces `to` if it exists. Throws Error that names both.
void RenameFile(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a file or an empty folder, if it exists. Throws Error that names the path.
void RemoveFile(const std::filesystem::path& path);

/// Makes the names in a folder durable (fsync): files that were created, renamed or removed there.
/// Does nothing on file systems that cannot sync folders, such as CIFS, 9p and VirtualBox's shared
/// folders. Throws Error that names the folder.
void SyncFolder(const std::filesystem::path& folder);

/// Writes a whole file with AtomicFile.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

/// Throws Error that names both amounts if the file system of `path`, a file or the folder of
/// several, has fewer than `bytes` bytes free for this user. Does nothing if the system does not
/// say how much is free, and for a device or a pipe.
void RequireSpace(const std::filesystem::path& path, std::int64_t bytes);

/// The largest file that is read as a text. A sparse file or a device has no other limit.
inline constexpr std::int64_t kMostTextBytes = std::int64_t{4} << 30;

/// Reads a whole regular file. Throws InputError that names the path and the system's reason, that
/// it is a folder, a pipe or a device, or that the file has more than `most_bytes` bytes.
std::string ReadFile(const std::filesystem::path& path, std::int64_t most_bytes = kMostTextBytes);

/// Like ReadFile, but for text in UTF-8: throws InputError also if it is compressed or in UTF-16.
/// Reads a pipe or a device, such as `/dev/stdin` or `<(zcat states.gz)`, to its end. Only for
/// arguments of the command line, because a pipe that nobody writes blocks forever.
std::string ReadInput(const std::filesystem::path& path, std::int64_t most_bytes = kMostTextBytes);

/// Returns `text` without the byte order mark that some editors put before a text.
std::string WithoutByteOrderMark(std::string text);

/// Throws InputError that names the path if it is a pipe or a device, because opening a pipe to
/// read it can block forever. Accepts files, folders and paths that do not exist.
void RequireNoPipe(const std::filesystem::path& path);

/// Creates the folder, or accepts one that exists and is empty. Returns whether it was created.
/// Throws InputError that asks for another folder if `folder` is a file or a folder that is not
/// empty. Throws InputError with the system's reason if it cannot be created.
bool MakeEmptyFolder(const std::filesystem::path& folder);

/// Throws the InputError that asks for another `--out`.
[[noreturn]] void FailForTakenFolder(const std::filesystem::path& folder);

/// SystemError means that the system refused an operation, for example because too many files are
/// open or access is denied. It says nothing about the contents of the file.
class SystemError : public Error {
 public:
  using Error::Error;
};

/// OpenFile is a file opened for reading. Several threads may call its const methods at once.
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
  std::shared_ptr<const void> descriptor_;  // its deleter closes the file
};

}  // namespace tandem
