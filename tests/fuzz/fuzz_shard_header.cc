// Fuzzes shard headers, either the raw bytes or their JSON, to which a correct hash is added. A
// header that is accepted must survive being written and read back; any other must give an Error.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "data/shard_file.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::optional<ShardHeader> Parse(std::string_view text) {
  try {
    return ParseHeader(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// A complete header around `json`, with a correct hash.
std::string WithRightHash(std::string_view json) {
  constexpr std::size_t kPage = 4096;
  const std::size_t around = 100 + kHashDigits;
  const std::size_t bytes = (json.size() + around + kPage - 1) / kPage * kPage;
  std::string text = fmt::format("tandem shard {}\nheader {:010}\n{}", kShardSchema, bytes, json);
  text.resize(bytes - kHashDigits - 2, ' ');
  text += '\n';
  Hash hash;
  hash.Add(text);
  return text + hash.Hex() + '\n';
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto header =
      tandem::Parse(text.starts_with("tandem") ? std::string(text) : tandem::WithRightHash(text));
  if (!header) return 0;
  const std::string written = tandem::FormatHeader(*header);
  const auto again = tandem::Parse(written);
  // Chunks follow the header, so a header of another length cannot describe them.
  const bool same_length =
      static_cast<std::int64_t>(written.size()) == header->chunks.front().offset;
  if (same_length && (!again || again->set != header->set || again->chunks != header->chunks)) {
    std::abort();
  }
  return 0;
}
