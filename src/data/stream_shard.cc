#include "data/stream_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <regex>
#include <tuple>

#include "base/open_file.h"
#include "base/text.h"
#include "data/examples.h"
#include "data/shard_file.h"
#include "domain/identity.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Entries of a header's provenance that differ from shard to shard.
constexpr const char* kGenerator = "stream.generator";
constexpr const char* kVersion = "stream.version";
constexpr const char* kFirstRow = "stream.first_row";

bool IsNameCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '_' || c == '-';
}

ShardSetSpec SpecOf(ShardSetSpec kind, const StreamShardName& name) {
  kind.examples = name.rows;
  kind.chunk_rows = name.rows;
  kind.chunks_per_shard = 1;
  kind.provenance[kGenerator] = name.generator;
  kind.provenance[kVersion] = std::to_string(name.version);
  kind.provenance[kFirstRow] = std::to_string(name.first_row);
  return kind;
}

void CheckBelongs(const fs::path& path, const ShardSetSpec& found, ShardSetSpec expected) {
  expected.compression = found.compression;
  if (!IsSameDomain(found.domain, expected.domain)) {
    throw InputError(
        fmt::format("{}: {}", path.string(), DescribeOtherDomain(found.domain, expected.domain)));
  }
  expected.domain = found.domain;  // the file of a puzzle's rules may have another path
  if (found == expected) return;
  throw InputError(fmt::format("{} does not belong to this run: {}", path.string(),
                               DescribeDifference(found, expected)));
}

// Memory for the rows of the shard at `path`. A lack of memory says nothing about the shard.
Storage MakeStorageFor(const fs::path& path, std::size_t bytes) {
  try {
    return MakeHostStorage(bytes);
  } catch (const Error& error) {
    throw SystemError(fmt::format("cannot read {}: {}", path.string(), error.what()));
  }
}

}  // namespace

bool IsGeneratorName(std::string_view name) {
  return !name.empty() && name.size() <= 60 && std::ranges::all_of(name, IsNameCharacter);
}

std::string FormatStreamShardName(const StreamShardName& name) {
  return fmt::format("rows-{:019}-{}-v{}-{}.tandem", name.first_row, name.rows, name.version,
                     name.generator);
}

std::optional<StreamShardName> ParseStreamShardName(std::string_view file) {
  static const std::regex form(
      R"(rows-(\d{19})-([1-9]\d{0,8})-v(0|[1-9]\d{0,17})-([A-Za-z0-9._-]{1,60})\.tandem)");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(file.begin(), file.end(), match, form)) return std::nullopt;
  const auto number = [&](std::size_t group) {
    return ParseNumber<std::int64_t>(std::string_view(match[group].first, match[group].second));
  };
  const auto first_row = number(1);
  const auto rows = number(2);
  const auto version = number(3);
  if (!first_row || !rows || !version || *rows > kMaxStreamRows ||
      *first_row >= kMaxStarts * kRowsPerStart) {
    return std::nullopt;
  }
  return StreamShardName{
      .first_row = *first_row, .rows = *rows, .version = *version, .generator = match[4].str()};
}

bool ComesBefore(const StreamShardName& a, const StreamShardName& b) {
  const auto key = [](const StreamShardName& name) {
    return std::tuple(name.version, name.first_row % kRowsPerStart, name.first_row);
  };
  return key(a) < key(b);
}

std::int64_t WriteStreamShard(const fs::path& folder, const ShardSetSpec& kind,
                              const StreamShardName& name, const DataBuffer& rows) {
  ShardWriter file(folder / FormatStreamShardName(name), SpecOf(kind, name), /*shard=*/0);
  file.Add(rows);
  return file.Commit();
}

DataBuffer ReadStreamShard(const fs::path& folder, const ShardSetSpec& kind,
                           const StreamShardName& name, int input_depth) {
  const fs::path path = folder / FormatStreamShardName(name);
  const ShardHeader header = ReadHeader(path);
  CheckBelongs(path, header.set, SpecOf(kind, name));
  Storage storage = MakeStorageFor(path, header.set.BytesOfChunk(0));
  ReadChunk(path, header, 0, storage.bytes);
  DataBuffer rows(header.set.schema, static_cast<std::size_t>(name.rows), std::move(storage));
  CheckExamples(rows, input_depth, path.string());
  return rows;
}

}  // namespace tandem
