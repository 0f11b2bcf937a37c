#include "train/stream_publisher.h"

#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/timeline.h"
#include "config/write.h"
#include "nn/tensor_file.h"
#include "nn/threads.h"
#include "train/checkpoint.h"
#include "train/resolve.h"
#include "train/run_profile.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Returns nothing if the file is missing or damaged. The caller then writes a new one.
std::optional<StreamManifest> LastManifest(const fs::path& run) {
  try {
    return ReadManifest(run);
  } catch (const InputError& error) {
    LogWarning(error.what());
    return std::nullopt;
  }
}

}  // namespace

StreamPublisher::StreamPublisher(fs::path run, const Config& config, std::string domain,
                                 const Network& net, Device& device, StreamLoader& stream,
                                 Interrupter& interrupter, std::int64_t updates,
                                 std::int64_t published)
    : run_(std::move(run)),
      config_(config),
      net_(net),
      device_(device),
      stream_(stream),
      device_stream_(device.MakeStream()),
      manifest_{.domain = std::move(domain), .config = ToYaml(WithAbsolutePaths(config))},
      writer_(kPublisherThread, &interrupter) {
  fs::create_directories(PublishedFolder(run_));
  const std::optional<StreamManifest> last = LastManifest(run_);
  if (!last || last->version != published || !fs::exists(PublishedWeights(run_, published))) {
    Publish(updates);
    return;
  }
  manifest_.version = published;
  manifest_.weights_sha256 = last->weights_sha256;
  published_ = published;
  stream_.Published(published);
  WriteManifest();
}

void StreamPublisher::Publish(std::int64_t updates) {
  const Span span(Phase::kPublish);
  writer_.ThrowFailure();
  if (published_ == updates) return;
  const std::int64_t before = std::exchange(published_, updates);
  stream_.Published(updates);
  const auto copy = std::make_shared<const StateDict>(CloneOf(net_.State()));
  writer_.Post([this, copy, updates, before] {
    const Span writing(Phase::kPublish);
    const ScopedThreads one(1);  // the cores belong to training
    const std::unique_ptr<StreamScope> scope = device_stream_->Enter();
    device_.Synchronize();
    Write(*copy, updates);
    RemoveOthers(updates, before);
  });
}

void StreamPublisher::Write(const StateDict& weights, std::int64_t updates) {
  RunCounters counters;
  counters.updates = updates;
  counters.iterations = updates * config_.train.iterations_per_update;
  WriteCheckpoint(PublishedWeights(run_, updates), manifest_.domain, config_.network, counters,
                  weights, /*resume=*/nullptr);
  manifest_.version = updates;
  manifest_.weights_sha256 = WeightsSha256(weights);
  WriteManifest();
}

void StreamPublisher::WriteManifest() const {
  WriteFileAtomically(ManifestOf(run_), FormatManifest(manifest_));
}

// Removes all files of the folder but the manifest and the weights after `updates` and `before`
// updates. A trainer that was killed may have left some.
void StreamPublisher::RemoveOthers(std::int64_t updates, std::int64_t before) const {
  for (const fs::directory_entry& entry : fs::directory_iterator(PublishedFolder(run_))) {
    const fs::path& path = entry.path();
    if (path == ManifestOf(run_) || path == PublishedWeights(run_, updates) ||
        path == PublishedWeights(run_, before)) {
      continue;
    }
    fs::remove(path);
  }
}

void StreamPublisher::End() {
  writer_.Wait();
  writer_.ThrowFailure();
  manifest_.ended = true;
  WriteManifest();
}

}  // namespace tandem
