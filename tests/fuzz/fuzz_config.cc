// Fuzzes configs of training runs. A config that is accepted must survive being written and read
// back; any other text must give an InputError.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "config/load.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::optional<Config> Parse(const std::string& text) {
  try {
    return ParseConfig(text, "fuzz.yaml");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = tandem::Parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!config) return 0;
  const std::string written = tandem::ToYaml(*config);
  const auto again = tandem::Parse(written);
  if (!again || tandem::ToYaml(*again) != written) std::abort();
  return 0;
}
