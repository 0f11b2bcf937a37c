#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The reason of errno.
[[noreturn]] void Fail() {
  const int reason = errno;
  if (reason == ENOENT || reason == EIO) throw Error(std::strerror(reason));
  throw SystemError(std::strerror(reason));
}

int OpenToRead(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) Fail();
  return descriptor;
}

std::byte* Map(int descriptor, std::size_t bytes, int protection) {
  if (bytes == 0) return nullptr;  // which the system refuses to map
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    throw SystemError(fmt::format("it cannot be mapped: {}", std::strerror(errno)));
  }
  return static_cast<std::byte*>(data);
}

// A file without a name and with room for so many bytes; 0, or the system's reason.
int MakeNameless(const std::filesystem::path& folder, std::size_t bytes, int& descriptor) {
  std::string name = (folder / "tandem-map-XXXXXX").string();
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return errno;
  ::unlink(name.c_str());
  return bytes > 0 ? ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) : 0;
}

}  // namespace

OpenFile::OpenFile(const std::filesystem::path& path) : descriptor_(OpenToRead(path)) {}

OpenFile::~OpenFile() { ::close(descriptor_); }

std::int64_t OpenFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) Fail();
  return status.st_size;
}

void OpenFile::WillNeed(std::int64_t offset, std::int64_t bytes) const {
  ::posix_fadvise(descriptor_, offset, bytes, POSIX_FADV_WILLNEED);
}

void OpenFile::Read(std::int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) Fail();
    if (count == 0) throw Error("it is torn: the file ends too soon");
    to = to.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

MappedFile::MappedFile(const OpenFile& file)
    : data_(Map(file.descriptor(), static_cast<std::size_t>(file.size()), PROT_READ)),
      size_(static_cast<std::size_t>(file.size())) {}

MappedFile::MappedFile(const std::filesystem::path& folder, std::size_t bytes) : size_(bytes) {
  const auto fail = [&](const char* why) {
    return Error(fmt::format("cannot keep {} in a file in {}: {}",
                             HumanBytes(static_cast<double>(bytes)), folder.string(), why));
  };
  int descriptor = -1;
  const int error = MakeNameless(folder, bytes, descriptor);
  if (descriptor < 0) throw fail(std::strerror(error));
  try {
    if (error != 0) throw Error(std::strerror(error));
    data_ = Map(descriptor, bytes, PROT_READ | PROT_WRITE);
  } catch (const Error& why) {
    ::close(descriptor);
    throw fail(why.what());
  }
  ::close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tandem
