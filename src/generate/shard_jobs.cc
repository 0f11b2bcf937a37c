#include "generate/shard_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "base/worker.h"
#include "config/fields.h"
#include "data/examples.h"
#include "data/shard_set.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// The description that the keys for which `has` is true give, without the sizes.
template <class Has>
ShardSetSpec SpecWith(const Config& config, const DomainSpec& domain, const Has& has) {
  ShardSetSpec spec{.domain = AsUtf8(domain.identity()),
                    .target = ValueText(config, "generate.target"),
                    .schema = ExampleSchema(domain, config)};
  Config copy = config;
  for (const Field& field : FieldsOf(copy)) {
    if (has(field.traits)) spec.provenance[field.key] = FieldText(field);
  }
  return spec;
}

}  // namespace

ShardSetSpec SpecOfSet(const Config& config, const DomainSpec& domain,
                       const ShardingOptions& options, const std::string& weights_sha256,
                       const std::string& instruction_set) {
  ShardSetSpec set = SpecWith(config, domain, [&](const KeyTraits& key) {
    return key.is_in_sets != nullptr && key.is_in_sets(config);
  });
  set.examples = options.examples;
  set.chunk_rows = options.chunk_rows;
  set.chunks_per_shard = options.chunks_per_shard;
  set.compression = options.compression;
  if (const auto rows = set.provenance.find("generate.rows_per_walk");
      rows != set.provenance.end()) {
    rows->second = std::to_string(config.generate.rows_of_walk());  // the key may be auto
  }
  if (NeedsNetwork(config.generate.target)) {
    const bool on_cpu = config.device == "cpu";
    if (on_cpu && !instruction_set.empty()) set.provenance["instruction_set"] = instruction_set;
    // No device number, so that each process may use its own GPU.
    set.provenance["device"] = on_cpu ? "cpu" : "cuda";
    set.provenance["weights_sha256"] = weights_sha256;
  }
  return set;
}

ShardSetSpec StreamKind(const Config& config, const DomainSpec& domain) {
  return SpecWith(config, domain, [](const KeyTraits& key) { return key.is_in_streams; });
}

namespace {

// No update of a run has this number. A run with the same seed that generates its own rows
// therefore generates different ones.
constexpr std::int64_t kNoUpdate = -1;

// Whether the shard exists and need not be generated. A shard that is incomplete, has a damaged
// header or belongs to another number is generated again. Altered bytes inside a chunk are not
// noticed here; that takes reading the whole file (`tandem shards`).
bool IsComplete(const fs::path& folder, std::int64_t shard) {
  const fs::path path = ShardPath(folder, shard);
  if (!fs::exists(path)) return false;
  RequireNoPipe(path);  // writing to a pipe would block until someone reads it
  try {
    const ShardHeader header = ReadHeader(path);
    if (header.shard != shard) {
      throw DamagedShard(fmt::format("{} holds shard {} of the set", path.string(), header.shard));
    }
    if (std::cmp_greater_equal(fs::file_size(path), header.file_bytes())) return true;
    throw DamagedShard(fmt::format("{} is incomplete", path.string()));
  } catch (const DamagedShard& damage) {
    LogWarning(fmt::format("{}; generating it again", damage.what()));
    return false;
  }
}

// Checks for free disk space now rather than fail hours later. Does nothing if the set is
// compressed, because the size of compressed rows is not known in advance.
void CheckRoom(const fs::path& folder, const ShardSetSpec& set,
               const std::vector<std::int64_t>& shards) {
  if (set.compression != Compression::kNone) return;
  std::int64_t needed = 0;
  for (const std::int64_t shard : shards) {
    for (auto chunk = set.FirstChunk(shard); chunk < set.EndChunk(shard); ++chunk) {
      needed += static_cast<std::int64_t>(set.BytesOfChunk(chunk));
    }
  }
  RequireSpace(folder, needed);
}

// Removes unfinished shards that killed processes left behind.
void RemoveLeftovers(const fs::path& folder, const std::vector<std::int64_t>& shards) {
  std::unordered_set<std::string> names;
  for (const std::int64_t shard : shards) {
    names.insert(ShardPath(folder, shard).filename().string());
  }
  for (const std::string& name : EntryNames(folder)) {
    const std::optional<PartialName> partial = ParsePartialName(name);
    if (!partial || !names.contains(std::string(partial->name))) continue;
    const bool is_dead = ::kill(partial->process, 0) != 0 && errno == ESRCH;
    if (is_dead) RemoveFile(folder / name);
  }
}

std::int64_t RowsOf(const ShardSetSpec& set, std::int64_t shard) {
  return std::min(set.EndChunk(shard) * set.chunk_rows, set.examples) -
         set.FirstChunk(shard) * set.chunk_rows;
}

// Returns the shards of the process that must be generated, and counts the rows in `progress`.
std::vector<std::int64_t> ShardsToMake(const fs::path& folder, const ShardSetSpec& set,
                                       ProcessRank process, GenerateProgress& progress) {
  std::vector<std::int64_t> missing;
  for (std::int64_t i = process.rank; i < set.num_shards(); i += process.world_size) {
    progress.rows += RowsOf(set, i);
    if (IsComplete(folder, i)) {
      progress.rows_found += RowsOf(set, i);
    } else {
      missing.push_back(i);
    }
  }
  return missing;
}

// Throws InputError if the set would exceed a limit of readers (ParseHeader).
void CheckSizes(const ShardSetSpec& set) {
  const auto exceeded = FindExceededLimit(set);
  if (!exceeded) return;
  const auto advice = [&]() -> std::string_view {
    switch (exceeded->limit) {
      case SetLimit::kShards:
        return "more rows per chunk (--chunk-rows) or more chunks per shard (--shard-chunks)";
      case SetLimit::kChunks:
        return "more rows per chunk (--chunk-rows)";
      case SetLimit::kShardBytes:
        return "fewer chunks per shard (--shard-chunks)";
      case SetLimit::kChunkBytes:
        return "fewer rows per chunk (--chunk-rows), because a chunk is read into memory as a "
               "whole";
    }
    return "";
  };
  throw InputError(fmt::format("the set would have {}; use {}", exceeded->text, advice()));
}

// Fills `rows` with chunk `chunk`, after it was made or replaced if it has another size.
void FillChunk(Generator& generator, const ShardSetSpec& set, std::int64_t chunk,
               std::unique_ptr<DataBuffer>& rows, const StopSignal& stop) {
  const std::int64_t count = set.RowsOfChunk(chunk);
  if (rows == nullptr || std::cmp_not_equal(rows->rows(), count)) {
    rows = WithMemoryAdvice("lower --chunk-rows", [&] {
      return std::make_unique<DataBuffer>(set.schema, static_cast<std::size_t>(count));
    });
  }
  generator.Fill({.update = kNoUpdate, .first_row = chunk * set.chunk_rows, .rows = count}, *rows,
                 stop);
  if (HasTargets(set.schema)) CheckTargets(*rows, fmt::format("chunk {} of the set", chunk));
}

// Writes one chunk at a time on a thread of its own.
class ChunkWriter {
 public:
  ChunkWriter(const fs::path& folder, const ShardSetSpec& set, GenerateProgress& done)
      : folder_(folder), set_(set), done_(done) {}

  // Starts to write chunk `chunk`, which belongs to shard `shard`. `rows` must not change before
  // Wait returns.
  void Start(std::int64_t shard, std::int64_t chunk, const DataBuffer& rows) {
    written_ = thread_.Post([this, shard, chunk, &rows] { Write(shard, chunk, rows); });
  }

  // Waits until the last chunk is written, and throws what that threw. Returns whether there was
  // one.
  bool Wait() {
    if (!written_.valid()) return false;
    written_.get();
    return true;
  }

 private:
  void Write(std::int64_t shard, std::int64_t chunk, const DataBuffer& rows) {
    if (chunk == set_.FirstChunk(shard)) file_.emplace(ShardPath(folder_, shard), set_, shard);
    file_->Add(rows);
    done_.rows_made += static_cast<std::int64_t>(rows.rows());
    if (chunk + 1 < set_.EndChunk(shard)) return;
    done_.bytes += file_->Commit();
    file_.reset();
  }

  const fs::path& folder_;
  const ShardSetSpec& set_;
  GenerateProgress& done_;
  std::optional<ShardWriter> file_;  // the current shard
  std::future<void> written_;        // the write of the last chunk
  Worker thread_{"writer"};          // last, because its tasks use the members above
};

// Makes the folder, and returns which shards to write there. Adds those that exist to `done`.
std::vector<std::int64_t> PrepareFolder(const fs::path& folder, const ShardSetSpec& set,
                                        ProcessRank process, GenerateProgress& done) {
  std::error_code error;
  const bool created = fs::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
  try {
    RequireNoOtherSet(folder, set);
    std::vector<std::int64_t> shards = ShardsToMake(folder, set, process, done);
    RemoveLeftovers(folder, shards);
    WarnOfStrays(folder, set.num_shards());
    CheckRoom(folder, set, shards);
    return shards;
  } catch (...) {
    if (created) fs::remove(folder, error);  // removes only an empty folder
    throw;
  }
}

}  // namespace

void GenerateShards(Generator& generator, const ShardSetSpec& set, const fs::path& folder,
                    ProcessRank process, const StopSignal& stop,
                    const std::function<void(const GenerateProgress&)>& progress) {
  CheckSizes(set);
  GenerateProgress done;
  const std::vector<std::int64_t> shards = PrepareFolder(folder, set, process, done);
  progress(done);
  std::unique_ptr<DataBuffer> filling;
  std::unique_ptr<DataBuffer> writing;
  ChunkWriter writer(folder, set, done);
  for (const std::int64_t shard : shards) {
    for (std::int64_t c = set.FirstChunk(shard); c < set.EndChunk(shard); ++c) {
      try {
        FillChunk(generator, set, c, filling, stop);
      } catch (...) {
        writer.Wait();  // throws if the previous chunk could not be written
        throw;
      }
      if (writer.Wait()) progress(done);
      std::swap(filling, writing);
      writer.Start(shard, c, *writing);
    }
  }
  if (writer.Wait()) progress(done);
  RequireNoOtherSet(folder, set);  // another process may have begun one meanwhile
}

namespace {

// A shared file system does not report changes, so files are looked at this often.
constexpr auto kLookEvery = std::chrono::milliseconds(50);

void Pause(const StopSignal& stop) {
  if (stop.Reached()) throw Stopped();
  std::this_thread::sleep_for(kLookEvery);
}

// The global rows that one call of FollowRun makes.
class OwnRows {
 public:
  // Shards hold whole sequences, so that no search is cut in two and made twice.
  OwnRows(const StreamFolder& folder, std::string name, const Config& config)
      : folder_(folder),
        name_(std::move(name)),
        step_(config.generate.sequence().rows),
        rows_(config.data.stream_rows / step_ * step_) {
    Claim();
  }

  std::int64_t rows_of_shard() const { return rows_; }

  // Returns the range of the next shard.
  StreamShardName Next(std::int64_t version) {
    if (next_ + rows_ > end_) Claim();
    const std::int64_t first = std::exchange(next_, next_ + rows_);
    return {.first_row = first, .rows = rows_, .version = version, .generator = name_};
  }

 private:
  void Claim() {
    const std::int64_t first = folder_.ClaimStart(name_) * kRowsPerStart;
    next_ = (first + step_ - 1) / step_ * step_;
    end_ = first + kRowsPerStart;
  }

  const StreamFolder& folder_;
  const std::string name_;
  const std::int64_t step_;
  const std::int64_t rows_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
};

// Loads the weights that `manifest` names into the network, unless `loaded` is their hash. If the
// run has published newer ones meanwhile and removed these, `manifest` becomes the newer one.
// Returns false if the run has ended or has another config.
bool LoadPublished(const FollowOptions& options, StreamManifest& manifest, std::string& loaded) {
  while (loaded != manifest.weights_sha256) {
    const fs::path weights = PublishedWeights(options.run, manifest.version);
    try {
      loaded = options.load(weights);
      if (loaded == manifest.weights_sha256) break;
      throw InputError(fmt::format("{}: not the weights that {} names", weights.string(),
                                   ManifestOf(options.run).string()));
    } catch (const InputError&) {
      loaded.clear();
      auto newer = ReadManifest(options.run);
      if (!newer || *newer == manifest) throw;
      const bool same_config = newer->config == manifest.config;
      manifest = std::move(*newer);
      if (manifest.ended || !same_config) return false;
    }
  }
  return true;
}

void WriteShard(const FollowOptions& options, const StreamShardName& name, DataBuffer& rows,
                const StopSignal& stop, FollowProgress& progress) {
  const ScopedTimer timer(progress.generate_s);
  options.generator.Fill({.update = kStreamUpdate, .first_row = name.first_row, .rows = name.rows},
                         rows, stop);
  CheckTargets(rows, FormatStreamShardName(name));
  progress.bytes += WriteStreamShard(options.folder.path(), options.kind, name, rows);
  progress.rows += name.rows;
  ++progress.shards;
  progress.version = name.version;
}

}  // namespace

StreamManifest AwaitManifest(const fs::path& run, const StopSignal& stop,
                             const std::function<void()>& waits) {
  for (bool first = true;; first = false) {
    if (auto manifest = ReadManifest(run)) return std::move(*manifest);
    if (first) waits();
    Pause(stop);
  }
}

FollowEnd FollowRun(const FollowOptions& options, StreamManifest manifest, const StopSignal& stop,
                    FollowProgress& progress) {
  const std::string config = manifest.config;
  OwnRows own(options.folder, options.name, options.config);
  std::string loaded;
  DataBuffer rows = WithMemoryAdvice("lower data.stream_rows", [&] {
    return DataBuffer(options.generator.schema(), static_cast<std::size_t>(own.rows_of_shard()));
  });
  while (true) {
    if (stop.Reached()) throw Stopped();
    if (auto now = ReadManifest(options.run)) manifest = std::move(*now);
    if (manifest.config != config && !manifest.ended) return FollowEnd::kConfigChanged;
    if (manifest.ended) return FollowEnd::kRunEnded;
    if (std::ssize(options.folder.List().waiting) >= options.config.data.stream_shards) {
      const ScopedTimer timer(progress.paused_s);
      Pause(stop);
      continue;
    }
    if (!LoadPublished(options, manifest, loaded)) continue;
    const StreamShardName name = own.Next(manifest.version);
    WriteShard(options, name, rows, stop, progress);
    options.wrote(FormatStreamShardName(name), progress);
  }
}

}  // namespace tandem
