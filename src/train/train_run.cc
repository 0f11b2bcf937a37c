#include "train/train_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/timeline.h"
#include "config/write.h"
#include "data/examples.h"
#include "data/replay_buffer.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "nn/tensor_file.h"
#include "nn/torch_message.h"
#include "ranks/ranks.h"
#include "train/bottleneck.h"
#include "train/checkpoint.h"
#include "train/components.h"
#include "train/failure.h"
#include "train/resolve.h"

namespace tandem {

TrainRun::TrainRun(Config config, RunOptions options)
    : config_(WithBackends(WithAbsolutePaths(std::move(config)), *options.device)),
      directory_(std::move(options.directory)),
      began_(options.began),
      device_(std::move(options.device)),
      device_description_(device_->description()),
      stream_(device_->MainStream()),
      ranks_(options.ranks),
      time_(options.began),
      stop_(options.stop, /*among_ranks=*/options.ranks != nullptr),
      validation_(config_.validation, so_far_, stop_.requests()) {
  const Attach attach(time_.main());
  const Span span(Activity::kSetUp);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  if (options.from != nullptr) ContinueFrom(*options.from);
  if (config_.profile.timing_breakdown) {
    // The run without a folder that measures the speed of updates logs nothing.
    breakdown_.emplace(time_.main(), *device_, config_, /*logs=*/directory_.has_value());
  }
  if (config_.profile.trace_updates > 0 && directory_) {
    tracer_.emplace(time_.timeline(), *device_, config_, directory_->trace(), so_far_.updates);
  }
  if (const double limit = TimeLimitOf(config_.train); limit > 0) {
    stop_.SetTimeLimit(began_, limit - earlier_s_);
  }
  if (ranks_ != nullptr) rank_times_.emplace(*ranks_);
  MakeComponents(options.from);
  if (config_.train.watchdog_seconds > 0) stop_.Watch(time_.timeline(), config_.train);
  if (directory_) StartToSave(/*resumes=*/options.from != nullptr);
}

TrainRun::~TrainRun() = default;

void TrainRun::AddObserver(TrainObserver& observer) { observers_.push_back(&observer); }

std::string TrainRun::domain_identity() const { return components_->domain->spec().identity(); }

std::int64_t TrainRun::num_parameters() const { return components_->net->NumParameters(); }

// Takes over what the run has done. The updates from there on will be repeated, so their revisions
// of the plan go.
void TrainRun::ContinueFrom(const Checkpoint& checkpoint) {
  so_far_ = checkpoint.Counters();
  earlier_s_ = so_far_.wall_s;
  first_update_ = so_far_.updates;
  if (!config_.train.follows_clock) return;
  UpdatePlan plan(config_.train);
  plan.ForgetFrom(so_far_.updates);
  plan.WriteTo(config_.train);
}

void TrainRun::MakeComponents(const Checkpoint* from) {
  if (from != nullptr) CheckReplayCanBeRead();
  components_ = std::make_unique<Components>(
      WithoutOverlapIfTimed(config_),
      RunContext{.device = device_,
                 .hooks = {.on_training_start = [this] { OnTrainingStart(); },
                           .on_iteration_end = [this](std::int64_t done) { OnIterationEnd(done); }},
                 .stop = stop_.signal(),
                 .interrupter = stop_.interrupter(),
                 .links = ranks_ != nullptr
                              ? std::optional(RankLinks{.ranks = *ranks_, .stop = *stop_.agreed()})
                              : std::nullopt,
                 .folder = directory_ ? directory_->path() : std::filesystem::path()},
      from);
  const bool has_rows = components_->replay != nullptr && so_far_.updates > 0;
  if (from != nullptr && has_rows) ReadReplayRows();
  if (components_->shards != nullptr) began_training_ = Mark();
  if (components_->stream != nullptr) began_stream_ = components_->stream->position();
}

void TrainRun::CheckReplayCanBeRead() const {
  if (directory_ || config_.replay.updates == 0) return;
  throw InputError(
      "a run with replay but without a folder cannot continue from a checkpoint, because the "
      "folder holds the replay rows of the checkpoint. Give the run a folder, or set "
      "replay.updates to 0.");
}

// Reads the replay rows of the checkpoint from which the run continues.
void TrainRun::ReadReplayRows() {
  ReplayBuffer& replay = *components_->replay;
  const std::filesystem::path file = directory_->replay(so_far_.updates);
  ReadReplay(file, replay, so_far_.updates);
  if (!HasTargets(replay.schema())) return;
  for (std::int64_t k = replay.first(); k < replay.end(); ++k) {
    CheckExamples(replay.BufferOf(k), components_->network.input.depth, file.string());
  }
}

// From now on, the folder belongs to this run. Afterwards it has a checkpoint of `so_far_`. The
// only newer file may be a damaged checkpoint.safetensors, if the run continues from an earlier
// one.
void TrainRun::StartToSave(bool resumes) {
  // Only the wait for a stream's rows may never end by itself.
  Interrupter* const interrupter = config_.streams() ? &stop_.interrupter() : nullptr;
  saver_.emplace(*directory_, *device_, config_, domain_identity(), interrupter);
  components_->AttachTo(*saver_);
  if (resumes) {
    saver_->ContinueFrom(so_far_);
  } else {
    saver_->SaveCheckpoint(State());
  }
  // The checkpoint contains the config too, so a run that is killed before this write can resume.
  SaveConfig();
  metrics_.emplace(*directory_, config_, so_far_.iterations);
}

// A failed update leaves half-trained weights, which must not be saved as a complete state.
void TrainRun::RequireNoFailure() const {
  if (failed_) throw Error("the run has failed; resume it from its folder, or train again");
}

bool TrainRun::RunUpdate() {
  RequireNoFailure();
  // A resumed run may have been killed after its last update, before it wrote its summary.
  if (so_far_.updates >= *config_.train.max_updates) ended_ = true;
  if (ended_) return false;
  const Attach attach(time_.main());
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  SaveOnFailure([this] {
    if (tracer_) tracer_->OnUpdateStart(so_far_.updates);
    if (saver_) saver_->WaitForReplay(so_far_.updates);
    validation_.ValidateAtStart(*components_);
    // Repeats a validation that was stopped before the run was resumed.
    RecordLate(validation_.ValidateIfDue(*components_));
    TakeSnapshot();
    RevisePlan();
    {
      const Section section("update", so_far_.updates);
      RunPipelineUpdate();
    }
    DecideWhetherEnded();
    if (tracer_ && !ended_) tracer_->OnUpdateEnd(so_far_.updates);  // otherwise Finish does
  });
  return !ended_;
}

// Runs `work`. If it throws, or if the watchdog has stopped the run, saves the state before the
// current update, or the current state if no update has begun. Then throws the error with the
// update and the stage in its message.
void TrainRun::SaveOnFailure(const std::function<void()>& work) {
  const std::int64_t update = so_far_.updates;  // which `work` may count as done before it fails
  try {
    work();
    stop_.ThrowIfStalled();
  } catch (...) {
    const Activity activity = Timeline::FailedActivity();  // before the spans of saving
    failed_ = true;
    SaveUnfinished();
    ThrowWithStage(update, activity);
  }
}

// Fits the number of updates, and so the learning-rate schedule, to the remaining time.
void TrainRun::RevisePlan() {
  if (!config_.train.follows_clock) return;
  pacer_.Begins(so_far_.updates, Counters().wall_s);
  const UpdatePlan before(config_.train);
  const UpdatePlan plan = pacer_.Revised(before, config_.train.max_seconds);
  if (plan.revisions() == before.revisions()) return;
  plan.WriteTo(config_.train);
  if (directory_) SaveConfig();
  components_->UsePlan(plan);
}

void TrainRun::RunPipelineUpdate() {
  UpdateRecord record;
  try {
    record = components_->pipeline->RunUpdate();
  } catch (const Stopped&) {
    if (!stop_.signal().Reached()) throw;
    return;  // the stop came while the main thread waited for a buffer
  }
  if (record.train.iterations > 0) EndUpdate(record);
  if (record.complete && saver_) saver_->DropSnapshot();
}

void TrainRun::OnTrainingStart() {
  if (saver_) saver_->ReportFailure();
  time_.OnTrainingStart();
}

void TrainRun::OnIterationEnd(std::int64_t iterations) {
  if (saver_) saver_->ReportFailure();
  const Span span(Activity::kReport);
  if (breakdown_) breakdown_->AfterIteration(iterations - 1);
  if (observers_.empty()) return;
  TrainingProgress now = progress();
  const std::int64_t of_update = iterations - so_far_.updates * config_.train.iterations_per_update;
  now.iterations = iterations;
  now.examples += of_update * config_.train.batch_size * components_->trainer.num_ranks();
  for (TrainObserver* observer : observers_) observer->OnIteration(now);
}

TrainingProgress TrainRun::progress() const {
  TrainingProgress progress{
      .updates = so_far_.updates,
      .iterations = so_far_.iterations,
      .planned_iterations = *config_.train.max_updates * config_.train.iterations_per_update,
      .examples = so_far_.examples,
      .seconds = earlier_s_ + began_.Seconds(),
      .max_seconds = TimeLimitOf(config_.train),
      .loss = so_far_.iterations > 0 ? std::optional(so_far_.final_loss) : std::nullopt,
      .longest_scramble = last_fill_.longest_scramble,
      .searches_solved = last_fill_.searches_solved,
      .busy = busy_,
      .solve_rate = {},
      .value_error = {}};
  if (so_far_.validation) {
    progress.solve_rate = so_far_.validation->solve_rate;
    progress.value_error = so_far_.validation->value_error;
  }
  return progress;
}

// Counts and reports an update, validates the network, and writes a checkpoint, if they are due.
void TrainRun::EndUpdate(const UpdateRecord& record) {
  const Span span(Activity::kReport);
  Count(record);
  std::optional<RankReport> ranks;
  if (rank_times_) ranks = rank_times_->AddUpdate(record, components_->net->State());
  std::optional<ValidationReport> report;
  if (record.complete) report = validation_.ValidateIfDue(*components_);
  if (report) RecordValidation(*report);
  const ThreadTimes times = time_.TakeTimes();
  busy_ = BusySharesOf(times);
  if (metrics_) AddMetrics(record, report, times, ranks ? &*ranks : nullptr);
  // If an observer throws, the update is repeated, so its state is not saved before.
  for (TrainObserver* observer : observers_) observer->OnUpdate(record);
  if (saver_ && record.complete) SaveWhatIsDue(record.seconds);
}

void TrainRun::Count(const UpdateRecord& record) {
  const TrainStats& train = record.train;
  if (record.complete) ++so_far_.updates;
  so_far_.iterations += train.iterations;
  so_far_.examples += train.examples;
  so_far_.generate_s += record.fill.seconds;
  so_far_.train_s += train.seconds - train.wait_s;
  so_far_.wait_for_rows_s += record.wait_for_rows_s;
  so_far_.final_loss = train.loss;
  last_fill_ = record.fill;
  if (const auto labels = CostLabels(record, config_)) longest_label_ = labels->max;
}

void TrainRun::AddMetrics(const UpdateRecord& record,
                          const std::optional<ValidationReport>& validation,
                          const ThreadTimes& times, const RankReport* ranks) {
  nlohmann::ordered_json line = MetricsLine(record, config_, Counters(), validation, times, ranks);
  if (components_->stream != nullptr) ReportStream(record.update, line);
  metrics_->Add(record.update, line, so_far_.iterations);
}

// Adds what the update used of the stream to its line of metrics.
void TrainRun::ReportStream(std::int64_t update, nlohmann::ordered_json& line) {
  const StreamUse use = components_->stream->TakeUse();
  stream_report_.Add(use);
  line.update(StreamJson(use));
  const std::vector<DoneShard> done = components_->stream->TakeDone();
  directory_->AppendShards(LedgerLines(update, done));
}

void TrainRun::DecideWhetherEnded() {
  const bool all_done = so_far_.updates == *config_.train.max_updates;
  if (!all_done && stop_.signal().Reached()) {
    end_ = stop_.requested() ? RunEnd::kStopped : RunEnd::kTimeLimit;
  }
  ended_ = all_done || end_ != RunEnd::kAllUpdates;
}

// Saves the network first if it is the best one, because saving needs the counters of the best one
// before it.
void TrainRun::RecordValidation(const ValidationReport& report) {
  if (saver_ && validation_.IsBest(report)) {
    saver_->SaveBest(components_->trainer.saved_net().State(), Counters());
  }
  validation_.Record(report);
}

// Records the result, if there is one, of a network whose update has its line of metrics already.
void TrainRun::RecordLate(const std::optional<ValidationReport>& report) {
  if (!report) return;
  const Span span(Activity::kReport);
  RecordValidation(*report);
  if (!metrics_) return;
  metrics_->AddToLast(so_far_.updates, ValidationJson(*report, config_), so_far_.iterations);
}

RunCounters TrainRun::Counters() const {
  RunCounters counters = so_far_;
  counters.wall_s = earlier_s_ + began_.Seconds();
  counters.follows_clock = config_.train.follows_clock;
  return counters;
}

RunState TrainRun::State() const {
  RunState state = components_->State(Counters());
  state.config = config_;
  return state;
}

void TrainRun::SaveConfig() const { WriteFileAtomically(directory_->config(), ToYaml(config_)); }

void TrainRun::TakeSnapshot() {
  if (!saver_) return;
  const Span span(Activity::kKeepState);
  saver_->TakeSnapshot(State());
}

// Call after a whole update.
void TrainRun::SaveWhatIsDue(double update_s) {
  const bool checkpoint_is_due = saver_->CheckpointIsDue(so_far_.updates, update_s);
  const std::int64_t every = config_.checkpoint.keep_every;
  if (every > 0 && so_far_.updates % every == 0) {
    saver_->StartToArchiveNetwork(components_->trainer.saved_net().State(), Counters());
  }
  const bool last = so_far_.updates == *config_.train.max_updates;  // Finish writes that checkpoint
  if (checkpoint_is_due && !last) saver_->StartCheckpoint(State());
}

void TrainRun::AwaitCheckpoint() {
  if (!saver_) return;
  const Attach attach(time_.main());
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  SaveOnFailure([this] { saver_->Wait(); });
}

// Saves the state from before the update, because a failure may have left the network in any state.
void TrainRun::SaveUnfinished() {
  if (!saver_) return;
  const Span span(Activity::kCheckpoint);
  const auto warn = [](std::string_view why) {
    LogWarning(fmt::format(
        "cannot save the state before the update: {} The last checkpoint stays as it is.", why));
  };
  try {
    if (!saver_->has_snapshot()) TakeSnapshot();
    if (saver_->has_snapshot()) saver_->SaveSnapshot();
  } catch (const c10::Error& error) {
    warn(MessageFor(error));
  } catch (const std::exception& error) {
    warn(error.what());
  } catch (...) {
    warn("unknown exception (not derived from std::exception).");
  }
}

TrainingMark TrainRun::Mark() const {
  return {.position = components_->shards->position(), .train_s = so_far_.train_s};
}

RunSummary TrainRun::Finish() {
  RequireNoFailure();
  const Attach attach(time_.main());
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  time_.OnTrainingEnd();
  std::string weights_sha256;
  SaveOnFailure([&] { weights_sha256 = ValidateAndSave(); });
  const Span span(Activity::kCheckpoint);
  RunSummary summary = MakeSummary();
  summary.weights_sha256 = std::move(weights_sha256);
  if (directory_) SaveOnFailure([&] { WriteAndNotify(summary); });
  return summary;
}

// Writes the last checkpoint. Returns the SHA-256 of the weights of the final network.
std::string TrainRun::ValidateAndSave() {
  if (end_ != RunEnd::kStopped) RecordLate(validation_.ValidateAtEnd(*components_));
  if (breakdown_) breakdown_->Finish();
  const Span span(Activity::kCheckpoint);
  return saver_ ? saver_->SaveCheckpoint(State())
                : WeightsSha256(components_->trainer.saved_net().State());
}

// Returns the summary without the hash of the weights. Also ends the trace and measures the speed
// of the machine, because the summary reports both.
RunSummary TrainRun::MakeSummary() {
  RunSummary summary;
  static_cast<RunCounters&>(summary) = Counters();
  summary.end = end_;
  summary.since_update = first_update_;
  summary.last_fill = last_fill_;
  summary.parameters = num_parameters();
  summary.peak_rss_bytes = PeakRssBytes();
  if (tracer_) tracer_->Finish();
  summary.time = time_.Report();
  if (tracer_) summary.time.gpu = tracer_->gpu();
  if (rank_times_ && !rank_times_->total().names.empty()) summary.ranks = rank_times_->total();
  summary.bottleneck = DescribeBottleneck(summary.time, config_, NumCores(),
                                          summary.ranks ? &*summary.ranks : nullptr);
  summary.learning = DescribeLearning(summary, config_, longest_label_);
  if (components_->shards != nullptr) {
    summary.data = ReportOfShards(*components_->shards, began_training_, Mark());
  }
  if (components_->stream != nullptr) {
    summary.stream = stream_report_;
    summary.stream->CountShards(began_stream_, components_->stream->position());
  }
  return summary;
}

// Writes summary.json, and tells the generators in other processes that the run has ended. That
// comes last, so that the run is complete also if they cannot be told.
void TrainRun::WriteAndNotify(const RunSummary& summary) {
  const Span span(Activity::kReport);
  WriteSummary(directory_->summary(), summary, config_, device_description_);
  const bool has_ended = end_ != RunEnd::kStopped;
  if (has_ended && components_->publisher != nullptr) components_->publisher->End();
}

}  // namespace tandem
