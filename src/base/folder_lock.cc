#include "base/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "tandem/error.h"

namespace tandem {

FolderLock::FolderLock(const std::filesystem::path& file, std::string_view taken,
                       std::string_view caution) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw InputError(fmt::format("cannot open {}: {}", file.string(), std::strerror(errno)));
  }
  descriptor_ = std::shared_ptr<const int>(new int(descriptor), [](const int* open) {
    ::close(*open);
    delete open;
  });
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
