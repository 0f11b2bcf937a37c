#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";

[[noreturn]] void FailToWrite(const fs::path& path, int error) {
  throw Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

void ThrowIfFailed(const std::error_code& error, const char* action, const fs::path& path) {
  if (!error) return;
  throw Error(fmt::format("cannot {} {}: {}", action, path.string(), error.message()));
}

bool IsSpecial(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

// Returns the link "/proc/PID/fd/N" that a path such as "/dev/stdout" leads to. It names an open
// file of a process. Returns nothing for other paths.
std::optional<fs::path> DescriptorLink(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code failed;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, failed); ++links) {
    const fs::path folder =
        fs::canonical(path.has_parent_path() ? path.parent_path() : fs::path("."), failed);
    if (failed) return std::nullopt;
    if (folder.filename() == "fd" && folder.string().starts_with("/proc/")) {
      return folder / path.filename();
    }
    const fs::path target = fs::read_symlink(path, failed);
    if (failed) return std::nullopt;
    path = folder / target;  // `target` alone if it is absolute
  }
  return std::nullopt;
}

// Opens the open file that `link` names, to write where it was last written. A new descriptor of
// the file would begin at its start. Returns -1, and sets errno, if that fails.
int OpenDescriptor(const fs::path& link) {
  std::error_code ignored;
  const auto number = ParseNumber<int>(link.filename().string());
  if (!number || link.parent_path() != fs::canonical("/proc/self/fd", ignored)) {
    return ::open(link.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);  // of another process
  }
  const int flags = ::fcntl(*number, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) {
    return ::fcntl(*number, F_DUPFD_CLOEXEC, 0);
  }
  errno = EBADF;
  return -1;
}

[[noreturn]] void FailToRead(const fs::path& path, std::string_view why) {
  throw InputError(fmt::format("cannot read {}: {}", path.string(), why));
}

std::string ReadWhole(const fs::path& path, std::int64_t most_bytes) {
  std::error_code error;
  if (fs::is_directory(path, error)) FailToRead(path, "it is a folder, expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) FailToRead(path, std::strerror(errno));
  std::string content;
  std::vector<char> block(std::size_t{1} << 16);
  while (in.good()) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    if (in.gcount() > most_bytes - std::ssize(content)) {
      FailToRead(path, fmt::format("it has more than {} bytes ({})", WithThousands(most_bytes),
                                   HumanBytes(static_cast<double>(most_bytes))));
    }
    content.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) FailToRead(path, std::strerror(errno));
  return content;
}

// Throws InputError if `content`, of the file `path`, is compressed or in UTF-16. Its lines would
// otherwise be reported one by one.
void RequireUtf8(std::string_view content, const fs::path& path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kCompressed = {
      {{"\x1f\x8b", "gunzip"},
       {"\x28\xb5\x2f\xfd", "unzstd"},
       {"\xfd"
        "7zXZ",
        "unxz"},
       {"PK\x03\x04", "unzip"}}};
  for (const auto& [begin, command] : kCompressed) {
    if (!content.starts_with(begin)) continue;
    FailToRead(path, fmt::format("it is compressed, expected text. Decompress it first, with {}.",
                                 command));
  }
  if (content.starts_with("\xff\xfe") || content.starts_with("\xfe\xff")) {
    FailToRead(path,
               "it is text in UTF-16, expected UTF-8. Convert it with `iconv -f UTF-16 -t UTF-8`.");
  }
}

// Throws an exception with the reason in errno.
[[noreturn]] void FailWithReason() {
  const int reason = errno;
  if (reason == ENOENT || reason == EIO) throw Error(std::strerror(reason));
  throw SystemError(std::strerror(reason));
}

// Without O_NONBLOCK, opening a pipe would block until someone opens it for writing.
int OpenToRead(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) FailWithReason();
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  throw Error(S_ISDIR(status.st_mode) ? "it is a folder, expected a file"
                                      : "it is a pipe or a device, expected a regular file");
}

}  // namespace

bool NamesOpenFile(const fs::path& path) { return DescriptorLink(path).has_value(); }

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (const std::optional<fs::path> link = DescriptorLink(path_)) {
    aside_ = path_;
    descriptor_ = OpenDescriptor(*link);
    if (descriptor_ < 0) FailToWrite(path_, errno);
    return;
  }
  const bool is_special = IsSpecial(path_);
  std::error_code failed;
  if (!is_special && fs::is_symlink(path_, failed)) {
    const fs::path target = fs::weakly_canonical(path_, failed);
    if (failed) FailToWrite(path_, failed.value());
    path_ = target;
  }
  aside_ = path_;
  if (!is_special) aside_ += fmt::format(".{}{}", ::getpid(), kPartial);
  // A link in place of the temporary file, whose name can be guessed, is not followed.
  const int no_link = is_special ? 0 : O_NOFOLLOW;
  descriptor_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | no_link, 0666);
  if (descriptor_ < 0) FailToWrite(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (committed_ || aside_ == path_) return;
  std::error_code ignored;
  fs::remove(aside_, ignored);
}

void AtomicFile::Write(std::string_view content) {
  WriteAll(content,
           [&](std::string_view rest) { return ::write(descriptor_, rest.data(), rest.size()); });
  size_ += std::ssize(content);
}

void AtomicFile::Overwrite(std::int64_t offset, std::string_view content) {
  WriteAll(content, [&](std::string_view rest) {
    const auto done = static_cast<std::int64_t>(content.size() - rest.size());
    return ::pwrite(descriptor_, rest.data(), rest.size(), offset + done);
  });
}

// Calls `write`, which works like ::write, with the remaining content until all of it is written.
template <class Call>
void AtomicFile::WriteAll(std::string_view content, const Call& write) const {
  while (!content.empty()) {
    const ssize_t count = write(content);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) FailToWrite(path_, errno);
    content.remove_prefix(static_cast<std::size_t>(count));
  }
}

void AtomicFile::Truncate(std::int64_t bytes) {
  if (aside_ == path_) return;
  if (::ftruncate(descriptor_, bytes) != 0 || ::lseek(descriptor_, bytes, SEEK_SET) < 0) {
    FailToWrite(path_, errno);
  }
  size_ = bytes;
}

void AtomicFile::Commit() {
  const bool is_aside = aside_ != path_;
  // On the descriptor that wrote: a new one need not see an error of an earlier write-back.
  if (is_aside && ::fsync(descriptor_) != 0) FailToWrite(path_, errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) FailToWrite(path_, errno);
  if (is_aside) {
    if (::rename(aside_.c_str(), path_.c_str()) != 0) FailToWrite(path_, errno);
    // The rename is durable only once the folder is on disk.
    SyncFolder(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
  }
  committed_ = true;
}

std::optional<PartialName> ParsePartialName(std::string_view file) {
  if (!file.ends_with(kPartial)) return std::nullopt;
  file.remove_suffix(kPartial.size());
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto process = ParseNumber<int>(file.substr(dot + 1));
  if (!process || *process <= 0) return std::nullopt;
  return PartialName{.name = file.substr(0, dot), .process = *process};
}

std::vector<std::string> EntryNames(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  ThrowIfFailed(error, "read", folder);
  std::ranges::sort(names);
  return names;
}

void RenameFile(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return;
  throw Error(fmt::format("cannot move {} to {}: {}", from.string(), to.string(), error.message()));
}

void RemoveFile(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  ThrowIfFailed(error, "remove", path);
}

void SyncFolder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) FailToWrite(folder, errno);
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  const bool cannot_sync = failed == EINVAL || failed == EBADF || failed == ENOTSUP;
  if (failed != 0 && !cannot_sync) FailToWrite(folder, failed);
}

void WriteFileAtomically(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.Write(content);
  file.Commit();
}

void RequireSpace(const fs::path& path, std::int64_t bytes) {
  std::error_code failed;
  const bool is_folder = fs::is_directory(path, failed);
  if (!is_folder && IsSpecial(path)) return;
  const fs::path real = fs::weakly_canonical(path, failed);
  if (failed) return;
  const fs::space_info space = fs::space(is_folder ? real : real.parent_path(), failed);
  if (failed || space.capacity == 0) return;
  if (space.available >= static_cast<std::uintmax_t>(std::max<std::int64_t>(bytes, 0))) return;
  const auto amount = [](std::uintmax_t number) {
    return fmt::format("{} bytes ({})", WithThousands(static_cast<long long>(number)),
                       HumanBytes(static_cast<double>(number)));
  };
  throw Error(fmt::format(
      "cannot write {}: it needs {}, and the file system has {} free. Free some space, or use "
      "another disk.",
      path.string(), amount(static_cast<std::uintmax_t>(bytes)), amount(space.available)));
}

std::string ReadFile(const fs::path& path, std::int64_t most_bytes) {
  RequireNoPipe(path);
  return ReadWhole(path, most_bytes);
}

std::string ReadInput(const fs::path& path, std::int64_t most_bytes) {
  std::string content = ReadWhole(path, most_bytes);
  RequireUtf8(content, path);
  return content;
}

void RequireNoPipe(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) return;
  FailToRead(path, "it is a pipe or a device, expected a regular file");
}

std::string WithoutByteOrderMark(std::string text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

bool MakeEmptyFolder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) &&
      (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))) {
    FailForTakenFolder(folder);
  }
  const bool created = fs::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
  return created;
}

void FailForTakenFolder(const fs::path& folder) {
  throw InputError(
      fmt::format("{} exists and is not an empty folder; choose another folder", folder.string()));
}

OpenFile::OpenFile(const std::filesystem::path& path) : descriptor_(OpenToRead(path)) {}

OpenFile::~OpenFile() { ::close(descriptor_); }

std::int64_t OpenFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) FailWithReason();
  return status.st_size;
}

std::int64_t OpenFile::data_bytes() const {
  std::int64_t bytes = 0;
  for (std::int64_t at = 0;;) {
    const std::int64_t data = ::lseek(descriptor_, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return bytes;  // no data from `at` on
    at = data < 0 ? data : ::lseek(descriptor_, data, SEEK_HOLE);
    if (at < 0) return size();
    bytes += at - data;
  }
}

void OpenFile::WillNeed(std::int64_t offset, std::int64_t bytes) const {
  ::posix_fadvise(descriptor_, offset, bytes, POSIX_FADV_WILLNEED);
}

void OpenFile::Read(std::int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) FailWithReason();
    if (count == 0) throw Error("the file ends too soon");
    to = to.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

FolderLock::FolderLock(const std::filesystem::path& file, std::string_view taken,
                       std::string_view caution) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw InputError(fmt::format("cannot open {}: {}", file.string(), std::strerror(errno)));
  }
  descriptor_ = {nullptr, [descriptor](const void*) { ::close(descriptor); }};
  int failed = 0;
  do {
    failed = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed == 0) return;
  const std::string folder = file.parent_path().string();
  if (failed == EWOULDBLOCK) throw InputError(fmt::format("{}: {}", folder, taken));
  LogWarning(fmt::format("cannot lock {}: {}; {}", folder, std::strerror(failed), caution));
}

}  // namespace tandem
