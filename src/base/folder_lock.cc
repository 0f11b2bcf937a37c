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

FolderLock::FolderLock(const std::filesystem::path& folder, std::string_view taken,
                       std::string_view caution) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    throw InputError(fmt::format("cannot open {}: {}", folder.string(), std::strerror(errno)));
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
  if (failed == EWOULDBLOCK) throw InputError(fmt::format("{}: {}", folder.string(), taken));
  LogWarning(
      fmt::format("cannot lock {}: {}; {}", folder.string(), std::strerror(failed), caution));
}

}  // namespace tandem
