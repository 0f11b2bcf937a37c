#include "train/stream_publisher.h"

#include <fmt/format.h>

#include <regex>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/timeline.h"
#include "config/load.h"
#include "nn/threads.h"
#include "train/checkpoint.h"
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

// Whether StreamPublisher gives a file this name, or a killed trainer left an unfinished one.
bool IsOwn(const std::string& file) {
  static const std::regex weights(R"(weights-\d+\.safetensors)");
  const std::optional<PartialName> partial = ParsePartialName(file);
  const std::string whole(partial ? partial->name : file);
  return std::regex_match(whole, weights) || (partial && whole == "manifest.json");
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
      manifest_{.domain = std::move(domain), .config = ToYaml(config)},
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
  stream_.OnPublish(published);
  WriteManifest();
}

void StreamPublisher::Publish(std::int64_t updates) {
  const Span span(Activity::kPublish);
  writer_.ThrowFailure();
  if (published_ == updates) return;
  const std::int64_t before = std::exchange(published_, updates);
  stream_.OnPublish(updates);
  const auto copy = std::make_shared<const StateDict>(CloneOf(net_.State()));
  const std::shared_ptr<DeviceEvent> copied = device_.RecordEvent();
  writer_.Post([this, copy, copied, updates, before] {
    const Span writing(Activity::kPublish);
    const ScopedThreads one(1);  // the cores belong to training
    const std::unique_ptr<StreamScope> scope = device_stream_->Enter();
    copied->Await();
    Write(*copy, updates);
    RemoveOthers(updates, before);
  });
}

void StreamPublisher::Write(const StateDict& weights, std::int64_t updates) {
  RunCounters counters;
  counters.updates = updates;
  counters.iterations = updates * config_.train.iterations_per_update;
  manifest_.weights_sha256 =
      WriteCheckpoint(PublishedWeights(run_, updates), manifest_.domain, config_.network, counters,
                      weights, /*resume=*/nullptr);
  manifest_.version = updates;
  WriteManifest();
}

void StreamPublisher::WriteManifest() const {
  WriteFileAtomically(ManifestOf(run_), FormatManifest(manifest_));
}

// Removes published weights other than those after `updates` and `before` updates, and files that a
// killed trainer left. A file that stays costs only disk space, so a failure is a warning.
void StreamPublisher::RemoveOthers(std::int64_t updates, std::int64_t before) {
  const fs::path folder = PublishedFolder(run_);
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    if (!IsOwn(path.filename().string()) || path == PublishedWeights(run_, updates) ||
        path == PublishedWeights(run_, before)) {
      continue;
    }
    std::error_code failed;
    fs::remove(path, failed);
    if (failed && not_removed_.insert(path).second) {
      LogWarning(fmt::format("cannot remove {}: {}", path.string(), failed.message()));
    }
  }
  if (error) LogWarning(fmt::format("cannot read {}: {}", folder.string(), error.message()));
}

void StreamPublisher::End() {
  writer_.Wait();
  writer_.ThrowFailure();
  manifest_.ended = true;
  WriteManifest();
}

}  // namespace tandem
