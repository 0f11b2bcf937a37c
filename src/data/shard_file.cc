#include "data/shard_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/text.h"
#include "domain/registry.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;
using ReadJson = nlohmann::json;  // finds names of a hostile header faster

static_assert(std::endian::native == std::endian::little, "numbers are stored in memory order");

constexpr std::int64_t kPage = 4096;
constexpr std::size_t kSizeDigits = 10;
constexpr std::int64_t kMaxHeaderBytes = std::int64_t{1} << 27;  // of kMaxShardChunks chunks

constexpr std::string_view kKindOfShard = "tandem shard";

std::string Preamble() { return fmt::format("{} {}\nheader ", kKindOfShard, kShardSchema); }

Json ToJson(const Schema& schema) {
  Json columns = Json::array();
  for (const Column& column : schema.columns) {
    columns.push_back(
        {{"name", column.name}, {"type", NameOf(column.type)}, {"width", column.width}});
  }
  return columns;
}

// Numbers in JSON may be fractions, negative, or too large for any integer type.
std::int64_t NumberIn(const ReadJson& json, const char* key, std::int64_t least,
                      std::int64_t most) {
  const ReadJson& value = json.at(key);
  if (value.is_number_unsigned() && std::cmp_greater_equal(value.get<std::uint64_t>(), least) &&
      std::cmp_less_equal(value.get<std::uint64_t>(), most)) {
    return value.get<std::int64_t>();
  }
  throw Error(
      fmt::format("the header has `{}: {}`, expected {} to {}", key, DumpJson(value), least, most));
}

Compression CompressionIn(const ReadJson& json) {
  const auto name = json.at("compression").get<std::string>();
  if (const auto compression = ParseCompression(name)) return *compression;
  throw Error(fmt::format("the header has `compression: {}`, expected none or zstd", name));
}

Schema SchemaIn(const ReadJson& json) {
  Schema schema;
  for (const ReadJson& column : json) {
    const auto type = column.at("type").get<std::string>();
    if (type != "uint8" && type != "float32") {
      throw Error(
          fmt::format("the header has a column of type {}, expected uint8 or float32", type));
    }
    schema.columns.push_back(
        {.name = column.at("name"),
         .type = type == "uint8" ? ElementType::kUint8 : ElementType::kFloat32,
         .width = static_cast<std::size_t>(NumberIn(column, "width", 1, INT32_MAX))});
  }
  if (schema.columns.empty()) throw Error("the header lists no columns");
  return schema;
}

Json ToJson(const ShardSetSpec& set) {
  return {{"domain", set.domain},
          {"target", set.target},
          {"columns", ToJson(set.schema)},
          {"provenance", set.provenance},
          {"examples", set.examples},
          {"chunk_rows", set.chunk_rows},
          {"chunks_per_shard", set.chunks_per_shard},
          {"compression", NameOf(set.compression)}};
}

ShardSetSpec SpecIn(const ReadJson& json) {
  ShardSetSpec set{.domain = json.at("domain"),
                   .target = json.at("target"),
                   .schema = SchemaIn(json.at("columns")),
                   .provenance = json.at("provenance"),
                   .examples = NumberIn(json, "examples", 1, kMaxExamples),
                   .chunk_rows = NumberIn(json, "chunk_rows", 1, kMaxChunkRows),
                   .chunks_per_shard = NumberIn(json, "chunks_per_shard", 1, kMaxShardChunks),
                   .compression = CompressionIn(json)};
  if (const auto exceeded = FindExceededLimit(set)) {
    throw Error(fmt::format("the header describes a set with {}", exceeded->text));
  }
  return set;
}

Json ToJson(const ShardHeader& header) {
  Json json = ToJson(header.set);
  json["shard"] = header.shard;
  Json& chunks = json["chunks"] = Json::array();
  for (const StoredChunk& chunk : header.chunks) {
    chunks.push_back({chunk.offset, chunk.bytes, chunk.hash});
  }
  return json;
}

// The header's size if every number in it had its greatest possible length.
std::int64_t HeaderBytes(ShardHeader header) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  for (StoredChunk& chunk : header.chunks) {
    chunk = {.offset = kMost, .bytes = kMost, .hash = std::string(kHashDigits, '0')};
  }
  const std::size_t bytes =
      Preamble().size() + kSizeDigits + 1 + DumpJson(ToJson(header)).size() + 1 + kHashDigits + 1;
  return (static_cast<std::int64_t>(bytes) + kPage - 1) / kPage * kPage;
}

// The size of the header, as stated in its first two lines. `text` may be just the start of it.
std::int64_t StatedHeaderBytes(std::string_view text) {
  const std::string preamble = Preamble();
  if (!text.starts_with(preamble)) {
    throw Error(fmt::format("the file does not begin with `{} {}`", kKindOfShard, kShardSchema));
  }
  const auto bytes =
      ParseNumber<std::int64_t>(text.substr(preamble.size(), kSizeDigits)).value_or(0);
  if (bytes < kPage || bytes % kPage != 0 || bytes > kMaxHeaderBytes) {
    throw Error("the header is damaged: its size is not valid");
  }
  return bytes;
}

ShardHeader HeaderIn(std::string_view text) {
  try {
    const auto json = ParseJson<ReadJson>(text);
    ShardHeader header{.set = SpecIn(json)};
    header.shard = NumberIn(json, "shard", 0, header.set.num_shards() - 1);
    for (const ReadJson& chunk : json.at("chunks")) {
      header.chunks.push_back(
          {.offset = chunk.at(0), .bytes = chunk.at(1), .hash = chunk.at(2).get<std::string>()});
    }
    return header;
  } catch (const ReadJson::exception& error) {
    throw Error(fmt::format("the header is not valid: {}", error.what()));
  }
}

// Checks that the chunks follow the header without gaps and have possible sizes.
void CheckChunks(const ShardHeader& header, std::int64_t header_bytes) {
  const ShardSetSpec& set = header.set;
  const std::int64_t first = set.FirstChunk(header.shard);
  if (std::ssize(header.chunks) != set.EndChunk(header.shard) - first) {
    throw Error(fmt::format("the header describes shard {} with {} chunks, expected {}",
                            header.shard, header.chunks.size(),
                            set.EndChunk(header.shard) - first));
  }
  const bool compressed = set.compression == Compression::kZstd;
  std::int64_t end = header_bytes;
  for (std::int64_t i = 0; i < std::ssize(header.chunks); ++i) {
    const StoredChunk& chunk = header.chunks[static_cast<std::size_t>(i)];
    if (chunk.offset != end) {
      throw Error(fmt::format("the header says that chunk {} begins at {}, expected {}", i,
                              chunk.offset, end));
    }
    const std::size_t plain = set.BytesOfChunk(first + i);
    const auto most = static_cast<std::int64_t>(compressed ? MaxCompressedBytes(plain) : plain);
    if (chunk.bytes < (compressed ? 1 : most) || chunk.bytes > most) {
      throw Error(fmt::format("the header says that chunk {} has {} bytes, expected {}{}", i,
                              chunk.bytes, compressed ? "1 to " : "", most));
    }
    end += chunk.bytes;
  }
}

// Makes a task of about a tenth of a millisecond.
constexpr std::size_t kPartsPerTask = 2;

std::size_t PartsOf(std::size_t bytes) { return (bytes + kHashedBytes - 1) / kHashedBytes; }

template <class Byte>
std::span<Byte> PartOf(std::span<Byte> bytes, std::size_t part) {
  const std::size_t begin = part * kHashedBytes;
  return bytes.subspan(begin, std::min(kHashedBytes, bytes.size() - begin));
}

std::string HashOfAll(const std::vector<std::string>& parts) {
  Hash hash;
  for (const std::string& part : parts) hash.Add(part);
  return hash.Hex();
}

// Reads the shard at `path`. Exceptions of `read` that mean damage get the name of the damaged
// part.
template <class Read>
auto WithShardErrors(const std::filesystem::path& path, const std::string& part, const Read& read) {
  try {
    return read();
  } catch (const SystemError& error) {  // says nothing about the shard
    throw SystemError(fmt::format("cannot read {}: {}", path.string(), error.what()));
  } catch (const InputError&) {  // the shard is not damaged
    throw;
  } catch (const Error& error) {
    throw DamagedShard(fmt::format("{}: {}", part, error.what()));
  }
}

}  // namespace

std::optional<Compression> ParseCompression(std::string_view name) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    if (name == NameOf(compression)) return compression;
  }
  return std::nullopt;
}

std::string_view NameOf(Compression compression) {
  return compression == Compression::kZstd ? "zstd" : "none";
}

std::string Compress(std::span<const std::byte> bytes) {
  constexpr int kLevel = 3;  // Zstandard's default
  std::string frame(MaxCompressedBytes(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("cannot compress a chunk: {}", ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  return frame;
}

std::size_t MaxCompressedBytes(std::size_t bytes) { return ZSTD_compressBound(bytes); }

void Decompress(std::string_view frame, std::span<std::byte> to) {
  const std::size_t size = ZSTD_decompress(to.data(), to.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("it cannot be decompressed: {}", ZSTD_getErrorName(size)));
  }
  if (size != to.size()) {
    throw Error(fmt::format("it decompresses to {} bytes, expected {}", size, to.size()));
  }
}

std::string ChunkHash(std::span<const std::byte> bytes) {
  std::vector<std::string> parts(PartsOf(bytes.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = HashOf(TextOf(PartOf(bytes, i)));
  return HashOfAll(parts);
}

std::string ChunkHash(std::span<std::byte> bytes,
                      const std::function<void(std::size_t, std::span<std::byte>)>& read) {
  std::vector<std::string> parts(PartsOf(bytes.size()));
  ForRanges(parts.size(), kPartsPerTask, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      const std::span<std::byte> part = PartOf(bytes, i);
      read(i * kHashedBytes, part);
      parts[i] = HashOf(TextOf(part));
    }
  });
  return HashOfAll(parts);
}

std::int64_t ShardSetSpec::RowsOfChunk(std::int64_t chunk) const {
  return std::min(chunk_rows, examples - chunk * chunk_rows);
}

std::int64_t ShardSetSpec::EndChunk(std::int64_t shard) const {
  return std::min(num_chunks(), FirstChunk(shard + 1));
}

std::size_t ShardSetSpec::BytesOfChunk(std::int64_t chunk) const {
  return DataBuffer::BytesFor(schema, static_cast<std::size_t>(RowsOfChunk(chunk)));
}

std::optional<ExceededLimit> FindExceededLimit(const ShardSetSpec& set) {
  const auto excess_of = [](std::int64_t number, std::string_view noun, std::int64_t most) {
    return number <= most ? std::string()
                          : fmt::format("{} {}, expected at most {}", WithThousands(number), noun,
                                        WithThousands(most));
  };
  // The bytes of a hostile header exceed any integer type.
  const auto excess_of_bytes = [&](std::string_view noun, std::int64_t rows, std::int64_t limit) {
    const double bytes = static_cast<double>(rows) * static_cast<double>(set.schema.row_bytes());
    const auto most = static_cast<double>(limit);
    return bytes <= most ? std::string()
                         : fmt::format("{} of {}, expected at most {}", noun, HumanBytes(bytes),
                                       HumanBytes(most));
  };
  for (const auto& [limit, text] : std::to_array<ExceededLimit>({
           {SetLimit::kShards, excess_of(set.num_shards(), "shards", kMaxShards)},
           {SetLimit::kChunks, excess_of(set.num_chunks(), "chunks", kMaxChunks)},
           {SetLimit::kShardBytes, excess_of_bytes("shards", set.rows_per_shard(), kMaxShardBytes)},
           {SetLimit::kChunkBytes, excess_of_bytes("chunks", set.RowsOfChunk(0), kMaxChunkBytes)},
       })) {
    if (!text.empty()) return ExceededLimit{limit, text};
  }
  return std::nullopt;
}

std::string ShardSetSpec::Identity() const { return HashOf(DumpJson(ToJson(*this))); }

std::string DescribeDifference(const ShardSetSpec& there, const ShardSetSpec& here) {
  if (there.domain != here.domain) return DescribeOtherDomain(there.domain, here.domain);
  struct Fact {
    std::string name, there, here;
  };
  std::vector<Fact> facts = {
      {"the target", there.target, here.target},
      {"the schema", DescribeSchema(there.schema), DescribeSchema(here.schema)}};
  std::map<std::string, std::string> all = there.provenance;
  all.insert(here.provenance.begin(), here.provenance.end());
  const auto value = [](const ShardSetSpec& set, const std::string& key) {
    const auto found = set.provenance.find(key);
    return found == set.provenance.end() ? "not set" : found->second;
  };
  for (const auto& [key, unused] : all) facts.push_back({key, value(there, key), value(here, key)});
  const auto add_number = [&](const char* name, std::int64_t ShardSetSpec::*number) {
    facts.push_back({name, std::to_string(there.*number), std::to_string(here.*number)});
  };
  add_number("the number of examples", &ShardSetSpec::examples);
  add_number("the number of rows per chunk", &ShardSetSpec::chunk_rows);
  add_number("the number of chunks per shard", &ShardSetSpec::chunks_per_shard);
  facts.push_back({"the compression", std::string(NameOf(there.compression)),
                   std::string(NameOf(here.compression))});
  const auto differs = [](const Fact& fact) { return fact.there != fact.here; };
  const Fact& first = *std::ranges::find_if(facts, differs);
  return fmt::format("{} is {} there and {} here", first.name, first.there, first.here);
}

std::filesystem::path ShardPath(const std::filesystem::path& folder, std::int64_t shard) {
  return folder / fmt::format("shard-{:06}.tandem", shard);
}

std::string FormatHeader(const ShardHeader& header) {
  const std::int64_t bytes = HeaderBytes(header);
  std::string text =
      fmt::format("{}{:0{}}\n{}", Preamble(), bytes, kSizeDigits, DumpJson(ToJson(header)));
  text.resize(static_cast<std::size_t>(bytes) - kHashDigits - 2, ' ');
  text += '\n';
  return text + HashOf(text) + '\n';
}

ShardHeader ParseHeader(std::string_view text) {
  if (std::ssize(text) != StatedHeaderBytes(text)) {
    throw Error(
        fmt::format("the header has {} bytes, expected {}", text.size(), StatedHeaderBytes(text)));
  }
  const std::string_view hashed = text.substr(0, text.size() - kHashDigits - 1);
  if (text.substr(hashed.size()) != HashOf(hashed) + '\n') {
    throw Error("the header is damaged: its hash does not match its contents");
  }
  ShardHeader header = HeaderIn(hashed.substr(Preamble().size() + kSizeDigits));
  CheckChunks(header, std::ssize(text));
  return header;
}

ShardHeader ReadHeader(const std::filesystem::path& path) {
  return WithShardErrors(path, path.string(), [&] {
    const OpenFile file(path);
    std::string text(kPage, '\0');
    const auto read = [&](std::int64_t from, std::int64_t to) {
      if (to > file.size()) throw Error("the file is incomplete: it ends inside the header");
      text.resize(static_cast<std::size_t>(to));
      file.Read(from,
                std::as_writable_bytes(std::span(text)).subspan(static_cast<std::size_t>(from)));
    };
    read(0, kPage);
    RequireKnownSchema(path.string(), text, kKindOfShard, kShardSchema);
    read(kPage, std::max(kPage, StatedHeaderBytes(text)));
    return ParseHeader(text);
  });
}

ShardWriter::ShardWriter(const std::filesystem::path& path, const ShardSetSpec& set,
                         std::int64_t shard)
    : header_{.set = set, .shard = shard}, file_(path) {
  header_.chunks.resize(static_cast<std::size_t>(set.EndChunk(shard) - set.FirstChunk(shard)));
  file_.Write(FormatHeader(header_));
}

void ShardWriter::Add(const DataBuffer& rows) {
  std::string compressed;
  std::string_view stored = TextOf(rows.bytes());
  if (header_.set.compression == Compression::kZstd) {
    compressed = Compress(rows.bytes());
    stored = compressed;
  }
  header_.chunks[added_++] = {.offset = file_.size(),
                              .bytes = std::ssize(stored),
                              .hash = ChunkHash(std::as_bytes(std::span(stored)))};
  file_.Write(stored);
}

std::int64_t ShardWriter::Commit() {
  file_.Overwrite(0, FormatHeader(header_));
  file_.Commit();
  return file_.size();
}

std::string ChunkName(const std::filesystem::path& path, std::int64_t chunk) {
  return fmt::format("{}, chunk {}", path.string(), chunk);
}

void ReadChunk(const std::filesystem::path& path, const ShardHeader& header, std::int64_t chunk,
               std::span<std::byte> to) {
  const ShardSetSpec& set = header.set;
  const StoredChunk& stored = header.chunks.at(static_cast<std::size_t>(chunk));
  to = to.first(set.BytesOfChunk(set.FirstChunk(header.shard) + chunk));
  const bool compressed = set.compression == Compression::kZstd;
  WithShardErrors(path, ChunkName(path, chunk), [&] {
    std::string frame(compressed ? static_cast<std::size_t>(stored.bytes) : 0, '\0');
    const std::span<std::byte> raw = compressed ? std::as_writable_bytes(std::span(frame)) : to;
    const OpenFile file(path);
    file.WillNeed(stored.offset, stored.bytes);
    const std::string hash = ChunkHash(raw, [&](std::size_t done, std::span<std::byte> part) {
      file.Read(stored.offset + static_cast<std::int64_t>(done), part);
    });
    if (hash != stored.hash) throw Error("its hash does not match its contents; it is damaged");
    if (compressed) Decompress(frame, to);
  });
}

}  // namespace tandem
