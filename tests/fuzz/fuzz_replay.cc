// Fuzzes replay files, whole or as the part before the hash, to which a correct hash is added. A
// file that is accepted must be the one that would be written.
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "data/replay_buffer.h"
#include "fuzz/as_file.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kNext = 3;
constexpr std::size_t kRows = 2;

ReplayBuffer Empty() {
  const Schema schema{.columns = {{.name = "input", .type = ElementType::kUint8, .width = 3},
                                  {.name = "target", .type = ElementType::kFloat32, .width = 1}}};
  return {schema, kRows, /*earlier=*/1, /*seed=*/1};
}

std::string WithRightHash(std::string_view text) {
  Hash hash;
  hash.Add(text);
  return std::string(text) + hash.Hex();
}

void Read(const std::string& text) {
  const AsFile file(text);
  ReplayBuffer replay = Empty();
  try {
    ReadReplay(file.path(), replay, kNext);
  } catch (const InputError&) {
    return;
  }
  static const TempFolder folder;
  WriteReplay(folder.path() / "replay.bin", replay, kNext);
  if (ReadFile(folder.path() / "replay.bin") != text) std::abort();
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = tandem::AsText(data, size);
  tandem::Read(std::string(text));
  tandem::Read(tandem::WithRightHash(text));
  return 0;
}
