// Runs a fuzz target on all files in some folders, as libFuzzer's main does, for compilers without
// libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      const std::string bytes = tandem::ReadFile(entry.path());
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++files;
    }
    std::printf("%s: %d files\n", argv[i], files);
    if (files == 0) return 1;
  }
  return argc > 1 ? 0 : 1;
}
