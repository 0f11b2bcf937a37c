#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::byte* Map(int descriptor, std::size_t bytes, int protection) {
  if (bytes == 0) return nullptr;  // mmap refuses to map 0 bytes
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    throw SystemError(fmt::format("it cannot be mapped: {}", std::strerror(errno)));
  }
  return static_cast<std::byte*>(data);
}

// Creates a nameless file and reserves `bytes` bytes for it. Returns 0, or the error number.
int MakeNameless(const std::filesystem::path& folder, std::size_t bytes, int& descriptor) {
  std::string name = (folder / "tandem-map-XXXXXX").string();
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return errno;
  ::unlink(name.c_str());
  return bytes > 0 ? ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) : 0;
}

// Where the current thread continues if the file behind the map that it reads was shortened. Null
// outside MappedFile::Copy.
thread_local sigjmp_buf* t_escape = nullptr;

struct sigaction g_previous {};  // the previous handler of SIGBUS

void OnBusError(int /*number*/) {
  if (t_escape != nullptr) siglongjmp(*t_escape, 1);
  // A fault from elsewhere: it occurs again after the return, and the previous handler gets it.
  sigaction(SIGBUS, &g_previous, nullptr);
}

void CatchBusErrors() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_handler = &OnBusError;
    action.sa_flags = SA_NODEFER;  // so that siglongjmp need not restore the signal mask
    sigaction(SIGBUS, &action, &g_previous);
  });
}

}  // namespace

// Asks for the size once, because the file may grow meanwhile.
MappedFile::MappedFile(const OpenFile& file) : size_(static_cast<std::size_t>(file.size())) {
  data_ = Map(file.descriptor(), size_, PROT_READ);
}

MappedFile::MappedFile(const std::filesystem::path& folder, std::size_t bytes) : size_(bytes) {
  const auto fail = [&](const char* why) {
    return Error(fmt::format("cannot reserve a file of {} in {}: {}",
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

void MappedFile::Copy(std::size_t offset, std::span<std::byte> to) const {
  if (offset > size_ || to.size() > size_ - offset) throw Error("the file ends too soon");
  CatchBusErrors();
  sigjmp_buf escape;
  if (sigsetjmp(escape, 0) != 0) {
    t_escape = nullptr;
    throw Error("the file was shortened or became unreadable while it was mapped");
  }
  t_escape = &escape;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the handler must see the store
  std::memcpy(to.data(), data_ + offset, to.size());
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_escape = nullptr;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tandem
