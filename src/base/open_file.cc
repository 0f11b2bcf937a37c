#include "base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tandem {
namespace {

// Throws an exception with the reason in errno.
[[noreturn]] void Fail() {
  const int reason = errno;
  if (reason == ENOENT || reason == EIO) throw Error(std::strerror(reason));
  throw SystemError(std::strerror(reason));
}

// Without O_NONBLOCK, opening a pipe would block until someone opens it for writing.
int OpenToRead(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) Fail();
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  throw Error(S_ISDIR(status.st_mode) ? "it is a folder, expected a file"
                                      : "it is a pipe or a device, expected a regular file");
}

}  // namespace

OpenFile::OpenFile(const std::filesystem::path& path) : descriptor_(OpenToRead(path)) {}

OpenFile::~OpenFile() { ::close(descriptor_); }

std::int64_t OpenFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) Fail();
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
    if (count < 0) Fail();
    if (count == 0) throw Error("the file ends too soon");
    to = to.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

}  // namespace tandem
