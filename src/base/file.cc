#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void FailToWrite(const fs::path& path, int error) {
  throw Error(fmt::format("cannot write {}: {}", path.string(),
                          error != 0 ? std::strerror(error) : "the system gives no reason"));
}

void Sync(const fs::path& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) FailToWrite(path, errno);
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  if (failed != 0) FailToWrite(path, failed);
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (fs::is_symlink(path_, ignored)) path_ = fs::weakly_canonical(path_, ignored);
  const bool is_special = fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored);
  aside_ = path_;
  if (!is_special) aside_ += fmt::format(".{}.partial", ::getpid());
  errno = 0;
  out_.open(aside_, std::ios::binary);
  if (!out_) FailToWrite(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (committed_ || aside_ == path_) return;
  std::error_code ignored;
  fs::remove(aside_, ignored);
}

void AtomicFile::Write(std::string_view content) {
  errno = 0;
  out_.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out_) FailToWrite(path_, errno);
}

void AtomicFile::Overwrite(std::int64_t offset, std::string_view content) {
  errno = 0;
  out_.seekp(offset);
  Write(content);
  out_.seekp(0, std::ios::end);
  if (!out_) FailToWrite(path_, errno);
}

void AtomicFile::Commit() {
  errno = 0;
  out_.close();
  if (!out_) FailToWrite(path_, errno);
  if (aside_ != path_) {
    Sync(aside_, O_RDONLY);
    if (::rename(aside_.c_str(), path_.c_str()) != 0) FailToWrite(path_, errno);
    // The rename itself lasts only once the folder is on disk.
    Sync(path_.has_parent_path() ? path_.parent_path() : fs::path("."), O_RDONLY | O_DIRECTORY);
  }
  committed_ = true;
}

void WriteFileAtomically(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.Write(content);
  file.Commit();
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

std::string ReadText(const fs::path& path) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string text = ReadFile(path);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace tandem
