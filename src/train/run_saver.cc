#include "train/run_saver.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/fault_point.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/timeline.h"
#include "config/load.h"
#include "data/replay_buffer.h"
#include "loaders/stream_loader.h"
#include "nn/tensor_file.h"
#include "nn/threads.h"
#include "tandem/error.h"
#include "train/run_profile.h"

namespace tandem {
namespace {

RunState CopyOf(const RunState& state) {
  RunState copy = state;
  for (StateDict* tensors : {&copy.model, &copy.optimizer, &copy.target_network, &copy.average}) {
    *tensors = CloneOf(*tensors);
  }
  return copy;
}

// The network to solve with: the trained one or its average.
const StateDict& NetworkToSave(const RunState& state) {
  return state.config.train.averages() ? state.average : state.model;
}

}  // namespace

std::string RunFiles::SaveCheckpoint(const RunState& current) {
  return WeightsSha256(NetworkToSave(current));
}

RunSaver::RunSaver(const RunDirectory& directory, Device& device, Config config,
                   std::string domain_identity, const Sources& sources)
    : directory_(directory),
      device_(device),
      config_(std::move(config)),
      domain_identity_(std::move(domain_identity)),
      stream_(device.MakeStream()),
      sources_(sources),
      writer_(kWriterThread, sources.interrupter) {}

void RunSaver::ContinueFrom(RunCounters& so_far) {
  saved_next_ = so_far.updates;
  directory_.GoBackTo(so_far.updates, BestUpdateOf(so_far));
  if (!so_far.best) return;
  const std::string why = WhyBestIsUnusable(so_far);
  if (why.empty()) return;
  LogWarning(why);
  LogWarning("the next validation counts as the best so far and replaces best.safetensors");
  so_far.best.reset();
}

// Returns why best.safetensors is not the best network of `so_far`; "" if it is.
std::string RunSaver::WhyBestIsUnusable(const RunCounters& so_far) const {
  const std::int64_t iterations = so_far.best_update * config_.train.iterations_per_update;
  try {
    if (Checkpoint(directory_.best()).iterations() == iterations) return "";
    return fmt::format("{}: expected the network after update {}, found another",
                       directory_.best().string(), so_far.best_update);
  } catch (const InputError& error) {
    return error.what();
  }
}

// Replay needs one buffer more than a checkpoint, so the update with which a checkpoint continues
// replaces no row that the writing thread reads, but the update after it does, and waits. If a
// checkpoint was just started, its copy of the tensors is that of the next update too.
void RunSaver::BeginUpdate(const RunState& state) {
  const bool writes_replay = sources_.replay != nullptr && writes_checkpoint_;
  if (writes_replay && state.counters.updates > started_next_) Wait();
  const Span span(Activity::kKeepState);
  const std::shared_ptr<const RunState> copied = std::exchange(copied_, nullptr);
  if (copied != nullptr && copied->counters.iterations == state.counters.iterations) {
    RunState snapshot = state;
    snapshot.model = copied->model;
    snapshot.optimizer = copied->optimizer;
    snapshot.target_network = copied->target_network;
    snapshot.average = copied->average;
    snapshot_ = std::make_unique<const RunState>(std::move(snapshot));
  } else {
    snapshot_ = std::make_unique<const RunState>(CopyOf(state));
  }
}

void RunSaver::EndUpdate(const RunState& state, double update_s) {
  const std::int64_t updates = state.counters.updates;
  const bool checkpoint_is_due = CheckpointIsDue(updates, update_s);
  const std::int64_t every = config_.checkpoint.keep_every;
  if (every > 0 && updates % every == 0) {
    StartToArchiveNetwork(NetworkToSave(state), state.counters);
  }
  const bool last = updates == *state.config.train.max_updates;
  if (checkpoint_is_due && !last) StartCheckpoint(state);
  snapshot_.reset();
}

void RunSaver::SaveUnfinished(const RunState& current) {
  writer_.Wait();
  const RunState& state = snapshot_ ? *snapshot_ : current;
  Save(state, state);
}

bool RunSaver::CheckpointIsDue(std::int64_t updates, double update_s) {
  const CheckpointConfig& checkpoint = config_.checkpoint;
  const bool by_updates = updates % checkpoint.every_updates == 0;
  const bool by_time =
      checkpoint.every_seconds > 0 && since_saved_.Seconds() + update_s > checkpoint.every_seconds;
  is_due_ = is_due_ || by_updates || by_time;
  return is_due_ && !writes_checkpoint_;
}

void RunSaver::StartCheckpoint(const RunState& state) {
  const Span span(Activity::kCheckpoint);
  snapshot_.reset();
  is_due_ = false;
  since_saved_ = Stopwatch();
  started_next_ = state.counters.updates;
  copied_ = std::make_shared<const RunState>(CopyOf(state));
  writes_checkpoint_ = true;
  Post([this, copy = copied_] {
    Save(*copy, *copy);
    writes_checkpoint_ = false;
  });
}

void RunSaver::StartToArchiveNetwork(const StateDict& network, const RunCounters& counters) {
  const Span span(Activity::kCheckpoint);
  const auto copy = std::make_shared<const StateDict>(CloneOf(network));
  Post([this, copy, counters] {
    WriteCheckpoint(directory_.archived(counters.updates), domain_identity_, config_.network,
                    counters, *copy, /*resume=*/nullptr);
  });
}

void RunSaver::SaveBest(const RunState& state) {
  const Span span(Activity::kCheckpoint);
  if (const auto earlier = BestUpdateOf(state.counters)) directory_.PreserveBest(*earlier);
  WriteCheckpoint(directory_.best(), domain_identity_, config_.network, state.counters,
                  NetworkToSave(state), /*resume=*/nullptr);
}

// Lets the writing thread run `write`, whose tensors were copied on the main stream.
void RunSaver::Post(std::function<void()> write) {
  const std::shared_ptr<DeviceEvent> copied = device_.RecordEvent();
  writer_.Post([this, copied, write = std::move(write)] {
    const Span span(Activity::kCheckpoint);
    const ScopedThreads one(1);  // the cores belong to training
    const std::unique_ptr<StreamScope> scope = stream_->Enter();
    copied->Await();
    write();
  });
}

std::string RunSaver::SaveCheckpoint(const RunState& current) {
  const Span span(Activity::kCheckpoint);
  Wait();
  std::string weights_sha256 = Save(snapshot_ ? *snapshot_ : current, current);
  is_due_ = false;
  since_saved_ = Stopwatch();
  return weights_sha256;
}

// Writes the metrics and the replay rows before the checkpoint, because it relies on both. Runs on
// the writing thread, or on the main thread while the writing thread is idle. A checkpoint that
// replaces one of the same update needs the same replay rows, so writing them again loses nothing.
std::string RunSaver::Save(const RunState& resume, const RunState& current) {
  const std::int64_t next = resume.counters.updates;
  directory_.SyncMetrics();
  // Before update 0, replay is empty.
  if (sources_.replay != nullptr && next > 0) {
    WriteReplay(directory_.replay(next), *sources_.replay, next);
  }
  FaultPoint(Fault::kCheckpoint);
  if (config_.checkpoint.keep > 1 && saved_next_ && *saved_next_ < next) {
    directory_.PreserveCheckpoint(*saved_next_);
  }
  std::string weights_sha256 =
      WriteCheckpoint(directory_.checkpoint(), domain_identity_, config_.network, current.counters,
                      NetworkToSave(current), &resume);
  if (resume.stream) sources_.stream->OnCheckpoint(*resume.stream);
  saved_next_ = next;
  directory_.RemoveFilesBefore(next, BestUpdateOf(resume.counters), config_.checkpoint.keep);
  return weights_sha256;
}

void RunSaver::Wait() {
  const Span span(Activity::kWaitForDisk);
  writer_.Wait();
  ReportFailure();
}

void RunSaver::SaveConfig(const Config& config) {
  WriteFileAtomically(directory_.config(), ToYaml(config));
}

void RunSaver::AddMetrics(const nlohmann::ordered_json& line) {
  directory_.AppendMetrics(line);
  last_line_ = line.at("update").get<std::int64_t>();
}

void RunSaver::AddToLastMetrics(const nlohmann::ordered_json& entries,
                                const RunCounters& counters) {
  directory_.AddToLastMetrics(last_line_.value_or(counters.updates - 1), entries);
}

void RunSaver::SaveSummary(const nlohmann::ordered_json& summary) {
  WriteFileAtomically(directory_.summary(), DumpJson(summary, 2) + "\n");
}

void RunSaver::ReportFailure() {
  if (!writer_.failed()) return;
  const Span span(Activity::kCheckpoint);  // the stage in the message
  writer_.ThrowFailure();
}

}  // namespace tandem
