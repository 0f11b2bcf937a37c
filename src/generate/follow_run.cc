#include "generate/follow_run.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/stopwatch.h"
#include "data/examples.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// A shared file system does not report changes, so files are looked at this often.
constexpr auto kLookEvery = std::chrono::milliseconds(50);

void Pause(const StopSignal& stop) {
  if (stop.Reached()) throw Stopped();
  std::this_thread::sleep_for(kLookEvery);
}

// The global rows that one call of FollowRun makes.
class OwnRows {
 public:
  // Shards hold whole searches, so that no search is cut in two and made twice.
  OwnRows(const StreamFolder& folder, std::string name, const Config& config)
      : folder_(folder),
        name_(std::move(name)),
        step_(config.generate.rows_per_search()),
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

// Loads the published weights into the network.
class PublishedNetwork {
 public:
  explicit PublishedNetwork(const FollowOptions& options) : options_(options) {}

  // Loads the weights that `manifest` names, unless they are loaded. If the run has published newer
  // ones meanwhile and removed these, `manifest` becomes the newer one. Returns false if the run
  // has ended or has another config.
  bool Load(StreamManifest& manifest) {
    while (loaded_ != manifest.weights_sha256) {
      try {
        loaded_ = options_.load(PublishedWeights(options_.run, manifest.version));
        if (loaded_ == manifest.weights_sha256) break;
        throw InputError(fmt::format("{}: not the weights that {} names",
                                     PublishedWeights(options_.run, manifest.version).string(),
                                     ManifestOf(options_.run).string()));
      } catch (const InputError&) {
        loaded_.clear();
        auto newer = ReadManifest(options_.run);
        if (!newer || *newer == manifest) throw;
        const bool same_config = newer->config == manifest.config;
        manifest = std::move(*newer);
        if (manifest.ended || !same_config) return false;
      }
    }
    return true;
  }

 private:
  const FollowOptions& options_;
  std::string loaded_;
};

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
  PublishedNetwork network(options);
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
    if (!network.Load(manifest)) continue;
    const StreamShardName name = own.Next(manifest.version);
    WriteShard(options, name, rows, stop, progress);
    options.wrote(FormatStreamShardName(name), progress);
  }
}

}  // namespace tandem
