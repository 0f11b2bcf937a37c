// Gives bytes a path, for fuzz targets of code that reads files.
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace tandem {

/// AsFile is a file in memory that holds some bytes and is removed at the end.
class AsFile {
 public:
  explicit AsFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count <= 0) std::abort();
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  ~AsFile() { ::close(descriptor_); }
  AsFile(const AsFile&) = delete;
  AsFile& operator=(const AsFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Returns `data` as a text.
inline std::string_view AsText(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace tandem
