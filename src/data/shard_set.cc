#include "data/shard_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/examples.h"
#include "data/shard_format.h"
#include "domain/identity.h"

namespace tandem {

ShardWriter::ShardWriter(const std::filesystem::path& path, const ShardSetSpec& set,
                         std::int64_t shard)
    : header_{.set = set, .shard = shard}, file_(path) {
  header_.chunks.resize(static_cast<std::size_t>(set.EndChunk(shard) - set.FirstChunk(shard)));
  const std::string text = FormatHeader(header_);
  file_.Write(text);
  end_ = std::ssize(text);
}

void ShardWriter::Add(const DataBuffer& rows) {
  std::string compressed;
  std::string_view stored = TextOf(rows.bytes());
  if (header_.set.compression == Compression::kZstd) {
    compressed = Compress(rows.bytes());
    stored = compressed;
  }
  header_.chunks[added_++] = {.offset = end_,
                              .bytes = std::ssize(stored),
                              .hash = ChunkHash(std::as_bytes(std::span(stored)))};
  file_.Write(stored);
  end_ += std::ssize(stored);
}

std::int64_t ShardWriter::Commit() {
  file_.Overwrite(0, FormatHeader(header_));
  file_.Commit();
  return end_;
}

namespace {

namespace fs = std::filesystem;

// The files in `folder` that are named like shards, sorted. Other files are ignored.
std::vector<fs::path> FilesIn(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("shard-") && name.ends_with(".tandem")) files.push_back(entry.path());
  }
  if (error) {
    throw InputError(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  }
  std::ranges::sort(files);
  return files;
}

// Reads the header of a file. The shard's number is not set.
ShardSet::Shard ReadShard(const fs::path& path) {
  try {
    return {.path = path, .header = ReadHeader(path)};
  } catch (const DamagedShard& damage) {
    return {.path = path, .problem = damage.what()};
  }
}

// Throws because none of the shards in `found` has an intact header.
[[noreturn]] void FailWithoutHeader(const fs::path& folder,
                                    const std::vector<ShardSet::Shard>& found) {
  throw InputError(found.empty()
                       ? fmt::format("{} holds no shards (shard-000000.tandem, ...); create them "
                                     "with `tandem generate`",
                                     folder.string())
                       : fmt::format("{} holds no shard with an intact header: {}", folder.string(),
                                     found.front().problem));
}

}  // namespace

ShardSetSpec ReadShardSetSpec(const fs::path& folder) {
  std::vector<ShardSet::Shard> found;
  for (const fs::path& path : FilesIn(folder)) {
    found.push_back(ReadShard(path));
    if (found.back().header) return found.back().header->set;
  }
  FailWithoutHeader(folder, found);
}

std::vector<fs::path> StrayFiles(const fs::path& folder, std::int64_t num_shards) {
  std::unordered_set<std::string> names;
  for (std::int64_t i = 0; i < num_shards; ++i) names.insert(ShardPath(folder, i).string());
  std::vector<fs::path> files = FilesIn(folder);
  std::erase_if(files, [&](const fs::path& path) { return names.contains(path.string()); });
  return files;
}

std::string DescribeStray(const fs::path& file, std::int64_t num_shards) {
  return fmt::format("{} is not one of the set's {} ({:06} to {:06}) and is ignored", file.string(),
                     Counted(num_shards, "shard"), 0, num_shards - 1);
}

void WarnOfStrays(const fs::path& folder, std::int64_t num_shards) {
  for (const fs::path& stray : StrayFiles(folder, num_shards)) {
    LogWarning(DescribeStray(stray, num_shards));
  }
}

ShardSet::ShardSet(fs::path folder) : folder_(std::move(folder)) {
  std::vector<Shard> found;
  for (const fs::path& path : FilesIn(folder_)) found.push_back(ReadShard(path));
  const auto first =
      std::ranges::find_if(found, [](const Shard& shard) { return shard.header.has_value(); });
  if (first == found.end()) FailWithoutHeader(folder_, found);
  spec_ = first->header->set;
  std::unordered_map<std::string, Shard*> by_path;
  for (Shard& each : found) {
    if (each.header && each.header->set != spec_) {
      throw InputError(fmt::format("{} and {} belong to different sets: {}", first->path.string(),
                                   each.path.string(),
                                   DescribeDifference(spec_, each.header->set)));
    }
    by_path.emplace(each.path.string(), &each);
  }
  for (std::int64_t i = 0; i < spec_.num_shards(); ++i) {
    const fs::path path = ShardPath(folder_, i);
    const auto at = by_path.find(path.string());
    Shard shard = at != by_path.end()
                      ? std::move(*at->second)
                      : Shard{.path = path,
                              .missing = true,
                              .problem = fmt::format("{} is missing", path.string())};
    shard.number = i;
    if (shard.header && shard.header->shard != i) {
      shard.problem =
          fmt::format("{} holds shard {} of the set", path.string(), shard.header->shard);
      shard.header.reset();
    }
    shards_.push_back(std::move(shard));
  }
}

void ShardSet::CheckFits(const DomainSpec& domain, Head head) const {
  const bool same = IsSameDomain(spec_.domain, domain.identity());
  const Schema schema = ExampleSchema(domain, head, HasWeights(spec_.schema));
  const bool same_schema = spec_.schema == schema;
  // The labels of a policy and of a Q net have the same width.
  const auto head_of_set = spec_.provenance.find("network.head");
  const bool of_policy = spec_.target == NameOf(kTargets, Target::kPolicy) ||
                         (head_of_set != spec_.provenance.end() &&
                          head_of_set->second == NameOf(kHeads, Head::kPolicy));
  if (same && same_schema && of_policy != (head == Head::kPolicy)) {
    throw InputError(
        fmt::format("{}: `network.head: {}` cannot learn from examples with generate.target {}; {}",
                    folder_.string(), NameOf(kHeads, head), spec_.target,
                    of_policy ? "set network.head to policy"
                              : "generate them again with generate.target policy"));
  }
  if (same && same_schema) return;
  if (!same && same_schema) {
    throw InputError(fmt::format("{}: {}", folder_.string(),
                                 DescribeOtherDomain(spec_.domain, domain.identity())));
  }
  throw InputError(fmt::format(
      "{} holds examples of {} with columns {}, expected {} with columns {}", folder_.string(),
      spec_.domain, DescribeSchema(spec_.schema), domain.identity(), DescribeSchema(schema)));
}

void ShardSet::CheckComplete() const {
  for (const Shard& shard : shards_) {
    if (!shard.header) throw DamagedShard(shard.problem);
  }
}

const ShardSet::Shard& ShardSet::ShardOf(std::int64_t chunk) const {
  return shards_[static_cast<std::size_t>(chunk / spec_.chunks_per_shard)];
}

const StoredChunk& ShardSet::Stored(std::int64_t chunk) const {
  const Shard& shard = ShardOf(chunk);
  if (!shard.header) throw DamagedShard(shard.problem);
  return shard.header->chunks[static_cast<std::size_t>(chunk % spec_.chunks_per_shard)];
}

std::int64_t ShardSet::StoredBytes(std::int64_t chunk) const {
  return ShardOf(chunk).header ? Stored(chunk).bytes : 0;
}

void ShardSet::Read(std::int64_t chunk, std::span<std::byte> to, ChunkReading reading) const {
  const Shard& shard = ShardOf(chunk);
  if (!shard.header) throw DamagedShard(shard.problem);
  ReadChunk(shard.path, *shard.header, chunk % spec_.chunks_per_shard, to, reading);
}

void ReadChunk(const fs::path& path, const ShardHeader& header, std::int64_t chunk,
               std::span<std::byte> to, ChunkReading reading) {
  const ShardSetSpec& set = header.set;
  const StoredChunk& stored = header.chunks.at(static_cast<std::size_t>(chunk));
  to = to.first(set.BytesOfChunk(set.FirstChunk(header.shard) + chunk));
  const bool compressed = set.compression == Compression::kZstd;
  try {
    if (compressed && reading == ChunkReading::kMap) {
      throw Error("it is compressed, so it cannot be read through a memory map");
    }
    std::string frame(compressed ? static_cast<std::size_t>(stored.bytes) : 0, '\0');
    const std::span<std::byte> raw = compressed ? std::as_writable_bytes(std::span(frame)) : to;
    const OpenFile file(path);
    file.WillNeed(stored.offset, stored.bytes);
    std::optional<MappedFile> map;
    if (reading == ChunkReading::kMap) map.emplace(file);
    const std::string hash = ChunkHash(raw, [&](std::size_t done, std::span<std::byte> part) {
      const std::int64_t from = stored.offset + static_cast<std::int64_t>(done);
      if (map) {
        map->Copy(static_cast<std::size_t>(from), part);
      } else {
        file.Read(from, part);
      }
    });
    if (hash != stored.hash) throw Error("its hash does not match its contents; it is damaged");
    if (compressed) Decompress(frame, to);
  } catch (const SystemError& error) {  // says nothing about the shard
    throw SystemError(fmt::format("cannot read {}: {}", path.string(), error.what()));
  } catch (const Error& error) {
    throw DamagedShard(fmt::format("{}, chunk {}: {}", path.string(), chunk, error.what()));
  }
}

}  // namespace tandem
