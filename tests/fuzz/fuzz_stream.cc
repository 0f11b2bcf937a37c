// Fuzzes the manifest that a run publishes for its generators, and the names of the shards that
// they write. A text that begins with "rows-" is a name. What is accepted must be written as it was
// read.
#include <cstdlib>
#include <string_view>

#include "data/stream_folder.h"
#include "fuzz/as_file.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void ReadName(std::string_view text) {
  const auto name = ParseStreamShardName(text);
  if (name && FormatStreamShardName(*name) != text) std::abort();
}

void ReadManifestText(std::string_view text) {
  const StreamManifest manifest = ParseManifest(text);
  if (ParseManifest(FormatManifest(manifest)) != manifest) std::abort();
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = tandem::AsText(data, size);
  if (text.starts_with("rows-")) {
    tandem::ReadName(text);
    return 0;
  }
  try {
    tandem::ReadManifestText(text);
  } catch (const tandem::InputError&) {
  }
  return 0;
}
