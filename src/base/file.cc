#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void FailToWrite(const fs::path& path, int error) {
  throw Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

void Sync(const fs::path& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) FailToWrite(path, errno);
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  if (failed != 0) FailToWrite(path, failed);
}

}  // namespace

void WriteFileAtomically(const fs::path& path, const std::function<void(const fs::path&)>& write) {
  fs::path aside = path;
  aside += fmt::format(".{}.partial", ::getpid());
  try {
    write(aside);
    Sync(aside, O_RDONLY);
    if (::rename(aside.c_str(), path.c_str()) != 0) FailToWrite(path, errno);
  } catch (...) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    throw;
  }
  // The rename itself lasts only once the folder is on disk.
  Sync(path.has_parent_path() ? path.parent_path() : fs::path("."), O_RDONLY | O_DIRECTORY);
}

void WriteFileAtomically(const fs::path& path, std::string_view content) {
  WriteFileAtomically(path, [&](const fs::path& aside) {
    std::ofstream out(aside, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) FailToWrite(path, errno);
  });
}

std::string ReadFile(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw InputError(fmt::format("cannot read {}: it is a folder, expected a file", path.string()));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw InputError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace tandem
