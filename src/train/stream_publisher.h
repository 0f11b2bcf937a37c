// Publishes weights for generators in other processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/stop_signal.h"
#include "base/worker.h"
#include "config/config.h"
#include "data/stream_folder.h"
#include "loaders/stream_loader.h"
#include "nn/device.h"
#include "nn/network.h"
#include "pipeline/pipeline.h"

namespace tandem {

/// StreamPublisher writes weights and the manifest to the folder of a run (stream_folder.h). It
/// copies the weights on the calling thread, and writes the copy on a thread of its own. The
/// weights appear before the manifest that names them. Those before the last ones remain, because a
/// generator may be about to read them. It removes older ones, and no other files of the folder.
class StreamPublisher final : public WeightsPublisher {
 public:
  /// `net`, `device`, `stream` and `interrupter` must outlive this object. A failure to write ends
  /// the waits that `interrupter` knows. If the last published weights are not those after
  /// `published` updates, because the run is new or goes back to a checkpoint, publishes those of
  /// `net` as the ones after `updates` updates.
  StreamPublisher(std::filesystem::path run, const Config& config, std::string domain,
                  const Network& net, Device& device, StreamLoader& stream,
                  Interrupter& interrupter, std::int64_t updates, std::int64_t published);

  /// Throws Error if earlier weights could not be written.
  void Publish(std::int64_t updates) override;

  /// Tells the generators that the run has ended. Call it on the thread of Publish.
  void End();

 private:
  void Write(const StateDict& weights, std::int64_t updates);
  void WriteManifest() const;
  void RemoveOthers(std::int64_t updates, std::int64_t before);

  const std::filesystem::path run_;
  const Config config_;
  const Network& net_;
  Device& device_;
  StreamLoader& stream_;
  const std::unique_ptr<Stream> device_stream_;  // of the thread that writes
  StreamManifest manifest_;                      // used by the thread that writes
  std::set<std::filesystem::path> not_removed_;  // used by that thread: files that it warned of
  std::int64_t published_ = -1;
  BackgroundTasks writer_;  // last, because its tasks use everything above
};

}  // namespace tandem
