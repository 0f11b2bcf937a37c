#include "data/shard_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "data/examples.h"
#include "domain/registry.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// The files in `folder` that are named like shards, sorted. Other files are ignored.
std::vector<fs::path> FilesIn(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("shard-") && name.ends_with(".tandem")) files.push_back(at->path());
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

template <class Number>
void Shuffle(std::span<Number> numbers, Random random) {
  std::iota(numbers.begin(), numbers.end(), Number{0});
  PartialShuffle(numbers, 0, numbers.size(), random);
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

void RequireNoOtherSet(const fs::path& folder, const ShardSetSpec& set) {
  for (const fs::path& path : FilesIn(folder)) {
    const ShardSet::Shard shard = ReadShard(path);
    if (!shard.header || shard.header->set == set) continue;
    throw InputError(
        fmt::format("{} belongs to a different set: {}. Use another folder, or the arguments that "
                    "the set was started with.",
                    path.string(), DescribeDifference(shard.header->set, set)));
  }
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
  const bool weighted = HasWeights(spec_.schema);
  const Schema schema = ExampleSchema(domain, head, weighted);
  if (spec_.schema != schema) {
    throw InputError(fmt::format(
        "{} holds examples of {} with columns {}, expected {} with columns {}", folder_.string(),
        spec_.domain, DescribeSchema(spec_.schema), domain.identity(), DescribeSchema(schema)));
  }
  if (!IsSameDomain(spec_.domain, domain.identity())) {
    throw InputError(fmt::format("{}: {}", folder_.string(),
                                 DescribeOtherDomain(spec_.domain, domain.identity())));
  }
  // The labels of a policy and of a Q net have the same width.
  const auto head_of_set = spec_.provenance.find("network.head");
  const bool of_policy = spec_.target == NameOf(kTargets, Target::kPolicy) ||
                         (head_of_set != spec_.provenance.end() &&
                          head_of_set->second == NameOf(kHeads, Head::kPolicy));
  if (of_policy == EstimatesCosts(head)) {
    throw InputError(
        fmt::format("{}: `network.head: {}` cannot learn from examples with generate.target {}; {}",
                    folder_.string(), NameOf(kHeads, head), spec_.target,
                    of_policy ? "set network.head to policy"
                              : "generate them again with generate.target policy"));
  }
  if (weighted && HasPolicy(head)) {
    throw InputError(fmt::format("{}: its labels have weights, which `network.head: {}` cannot use",
                                 folder_.string(), NameOf(kHeads, head)));
  }
}

void ShardSet::CheckComplete() const {
  for (const Shard& shard : shards_) {
    if (!shard.header) throw DamagedShard(shard.problem);
  }
}

const ShardSet::Shard& ShardSet::ShardOf(std::int64_t chunk) const {
  return shards_[static_cast<std::size_t>(chunk / spec_.chunks_per_shard)];
}

std::int64_t ShardSet::StoredBytes(std::int64_t chunk) const {
  const Shard& shard = ShardOf(chunk);
  if (!shard.header) return 0;
  return shard.header->chunks[static_cast<std::size_t>(chunk % spec_.chunks_per_shard)].bytes;
}

std::string ShardSet::NameOfChunk(std::int64_t chunk) const {
  return ChunkName(ShardOf(chunk).path, chunk % spec_.chunks_per_shard);
}

void ShardSet::Read(std::int64_t chunk, std::span<std::byte> to) const {
  const Shard& shard = ShardOf(chunk);
  if (!shard.header) throw DamagedShard(shard.problem);
  ReadChunk(shard.path, *shard.header, chunk % spec_.chunks_per_shard, to);
}

EpochOrder::EpochOrder(const ShardSetSpec& set, std::uint64_t seed)
    : set_(set),
      seed_(seed),
      num_chunks_(set.num_chunks()),
      chunks_(static_cast<std::size_t>(num_chunks_)) {}

std::int64_t EpochOrder::ChunkOf(std::int64_t step) {
  if (const std::int64_t epoch = EpochOf(step); epoch != epoch_) {
    epoch_ = epoch;
    Shuffle(std::span(chunks_), Random(seed_, Purpose::kChunkOrder, epoch, 0));
  }
  return chunks_[static_cast<std::size_t>(step % num_chunks_)];
}

EpochPosition EpochOrder::Find(std::int64_t row) {
  EpochPosition position{.step = row / set_.examples * num_chunks_, .row = row % set_.examples};
  for (;;) {
    const std::int64_t rows = set_.RowsOfChunk(ChunkOf(position.step));
    if (position.row < rows) return position;
    position.row -= rows;
    ++position.step;
  }
}

void ShuffleRows(std::span<std::int32_t> rows, std::uint64_t seed, std::int64_t epoch,
                 std::int64_t chunk) {
  Shuffle(rows, Random(seed, Purpose::kRowOrder, epoch, chunk));
}

}  // namespace tandem
