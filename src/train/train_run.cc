#include "train/train_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/log.h"
#include "base/timeline.h"
#include "config/fields.h"
#include "data/examples.h"
#include "data/replay_buffer.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "nn/torch_message.h"
#include "tandem/error.h"
#include "train/checkpoint.h"
#include "train/components.h"
#include "train/report_sections.h"
#include "train/resolve.h"
#include "train/timing_breakdown.h"
#include "train/trace.h"

namespace tandem {

namespace {

// What the main thread does from an activity on, up to that of the next row. A failure of another
// thread arrives where the main thread waits for its work.
constexpr auto kStages = std::to_array<std::pair<Activity, std::string_view>>({
    {Activity::kUnnamed, ""},
    {Activity::kSetUp, "setting up"},
    {Activity::kGenerate, "generating rows"},
    {Activity::kScramble, "evaluating states"},
    {Activity::kShuffle, "making batches"},
    {Activity::kDiskLoad, "reading shards"},
    {Activity::kWaitForRows, "generating rows"},
    {Activity::kReplay, "drawing from replay"},
    {Activity::kWaitForBatch, "making batches"},
    {Activity::kForward, "training"},
    {Activity::kWaitForRanks, "waiting for the other ranks"},
    {Activity::kRefreshTarget, "refreshing the target network"},
    {Activity::kPublish, "publishing the weights"},
    {Activity::kKeepState, "copying the state"},
    {Activity::kValidation, "validation"},
    {Activity::kCheckpoint, "writing a checkpoint"},
    {Activity::kReport, "writing metrics"},
});
static_assert(std::ranges::is_sorted(kStages));

std::string_view StageOf(Activity activity) {
  const auto* const next = std::ranges::upper_bound(kStages, activity, {},
                                                    &std::pair<Activity, std::string_view>::first);
  return std::prev(next)->second;
}

// Call in a catch block. Rethrows the current exception with the update and the stage in front of
// its message: "update 3, generating rows: ...". `activity` is that of the main thread when the
// exception arrived (Timeline::FailedActivity). Exceptions other than InputError and Stopped become
// Error.
[[noreturn]] void ThrowWithStage(std::int64_t update, Activity activity) {
  const std::string_view stage = StageOf(activity);
  const auto with_stage = [&](std::string_view cause) {
    return fmt::format("update {}{}{}: {}", update, stage.empty() ? "" : ", ", stage, cause);
  };
  try {
    throw;
  } catch (const Stopped&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(with_stage(error.what()));
  } catch (const c10::Error& error) {
    throw Error(with_stage(MessageFor(error)));
  } catch (const std::bad_alloc&) {
    throw Error(with_stage(fmt::format("out of memory; {}", kToSpareMemory)));
  } catch (const std::exception& error) {
    throw Error(with_stage(error.what()));
  } catch (...) {
    throw Error(with_stage("unknown exception (not derived from std::exception)"));
  }
}

}  // namespace

TrainRun::TrainRun(Config config, RunOptions options)
    : config_(WithBackends(WithAbsolutePaths(std::move(config)), *options.device)),
      cores_(options.cores),
      directory_(std::move(options.directory)),
      began_(options.began),
      device_(std::move(options.device)),
      stream_(device_->MainStream()),
      time_(options.began),
      stop_(options.stop, /*among_ranks=*/options.ranks != nullptr),
      validation_(config_.validation, so_far_, stop_.requests()) {
  const Attach attach(time_.main());
  const Span span(Activity::kSetUp);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  const bool resumes = options.from != nullptr;
  if (resumes) ContinueFrom(*options.from);
  if (const double limit = TimeLimitOf(config_.train); limit > 0) {
    stop_.SetTimeLimit(began_, limit - earlier_s_);
  }
  // The trace and the breakdown begin before the components are made.
  if (config_.profile.timing_breakdown) {
    // The run without a folder that measures the speed of updates logs nothing.
    sections_.push_back(MakeTimingBreakdown(time_.main(), *device_, config_,
                                            /*logs=*/directory_.has_value()));
  }
  if (config_.profile.trace_updates > 0 && directory_) {
    sections_.push_back(
        MakeTracer(time_.timeline(), *device_, config_, directory_->trace(), so_far_.updates));
  }
  if (resumes) CheckReplayCanBeRead();
  components_ = std::make_unique<Components>(
      WithoutOverlapIfTimed(config_), device_, options.ranks, stop_,
      TrainingHooks{.on_training_start =
                        [this] {
                          files_->ReportFailure();
                          time_.OnTrainingStart();
                        },
                    .on_iteration_end = [this](std::int64_t done) { OnIterationEnd(done); }},
      directory_ ? directory_->path() : std::filesystem::path(), options.from);
  if (resumes) ReadReplayRows();
  AddSections(options.ranks);
  stop_.Watch(time_.timeline(), config_.train);
  StartToSave(resumes);
}

TrainRun::~TrainRun() = default;

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

void TrainRun::CheckReplayCanBeRead() const {
  if (directory_ || config_.replay.updates == 0) return;
  throw InputError(
      "a run with replay but without a folder cannot continue from a checkpoint, because the "
      "folder holds the replay rows of the checkpoint. Give the run a folder, or set "
      "replay.updates to 0.");
}

// Reads the replay rows of the checkpoint from which the run continues.
void TrainRun::ReadReplayRows() {
  if (components_->replay == nullptr || so_far_.updates == 0) return;
  ReplayBuffer& replay = *components_->replay;
  const std::filesystem::path file = directory_->replay(so_far_.updates);
  ReadReplay(file, replay, so_far_.updates);
  if (!HasTargets(replay.schema())) return;
  for (std::int64_t k = replay.first(); k < replay.end(); ++k) {
    CheckExamples(replay.BufferOf(k), components_->network.input.depth, file.string());
  }
}

// Adds the parts of the run that report what the components did.
void TrainRun::AddSections(Ranks* ranks) {
  Components& run = *components_;
  if (ranks != nullptr) sections_.push_back(MakeRankSection(*ranks, *run.net, config_));
  if (run.shards != nullptr) sections_.push_back(MakeShardSection(*run.shards, config_));
  if (run.stream != nullptr) sections_.push_back(MakeStreamSection(*run.stream, *directory_));
}

// From now on, the folder belongs to this run. Afterwards it has a checkpoint of `so_far_`. The
// only newer file may be a damaged checkpoint.safetensors, if the run continues from an earlier
// one. The checkpoint contains the config too, so a run that is killed before config.yaml is
// written can resume.
void TrainRun::StartToSave(bool resumes) {
  if (!directory_) {
    files_ = std::make_unique<RunFiles>();
    return;
  }
  // Only the wait for a stream's rows may never end by itself.
  auto saver = std::make_unique<RunSaver>(
      *directory_, *device_, config_, components_->domain->spec().identity(),
      RunSaver::Sources{.replay = components_->replay.get(),
                        .stream = components_->stream.get(),
                        .interrupter = config_.streams() ? &stop_.interrupter() : nullptr});
  if (resumes) {
    saver->ContinueFrom(so_far_);
  } else {
    saver->SaveCheckpoint(State());
  }
  saver->SaveConfig(config_);
  files_ = std::move(saver);
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
    for (const auto& section : sections_) section->OnUpdateStart(so_far_.updates);
    validation_.ValidateAtStart(*components_);
    // Repeats a validation that was stopped before the run was resumed.
    RecordLate(validation_.ValidateIfDue(*components_));
    files_->BeginUpdate(State());
    RevisePlan();
    RunPipelineUpdate();
    DecideWhetherEnded();
    if (ended_) return;  // Finish ends the sections
    for (const auto& section : sections_) section->OnUpdateEnd(so_far_.updates);
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
  files_->SaveConfig(config_);
  components_->UsePlan(plan);
}

void TrainRun::RunPipelineUpdate() {
  const Section section("update", so_far_.updates);
  UpdateRecord record;
  try {
    record = components_->pipeline->RunUpdate();
  } catch (const Stopped&) {
    if (!stop_.signal().Reached()) throw;
    return;  // the stop came while the main thread waited for a buffer
  }
  if (record.train.iterations > 0) EndUpdate(record);
}

void TrainRun::OnIterationEnd(std::int64_t iterations) {
  files_->ReportFailure();
  const Span span(Activity::kReport);
  for (const auto& section : sections_) section->OnIteration(iterations - 1);
  if (!observe_iteration_) return;
  TrainingProgress now = progress();
  const std::int64_t of_update = iterations - so_far_.updates * config_.train.iterations_per_update;
  now.iterations = iterations;
  now.examples += of_update * config_.train.batch_size * components_->trainer.num_ranks();
  observe_iteration_(now);
}

std::int64_t TrainRun::num_parameters() const { return components_->net->NumParameters(); }

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
  nlohmann::ordered_json of_sections = nlohmann::ordered_json::object();
  for (const auto& section : sections_) section->OnUpdate(record, of_sections);
  std::optional<ValidationReport> report;
  if (record.complete) report = validation_.ValidateIfDue(*components_);
  if (report) RecordValidation(*report);
  const ThreadTimes times = time_.TakeTimes();
  busy_ = BusySharesOf(times);
  nlohmann::ordered_json line = MetricsLine(record, config_, Counters(), report, times);
  line.update(of_sections);
  files_->AddMetrics(line);
  if (record.complete) files_->EndUpdate(State(), record.seconds);
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
  if (record.labels) longest_label_ = record.labels->max;
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
  if (validation_.IsBest(report)) files_->SaveBest(State());
  validation_.Record(report);
}

// Records the result, if there is one, of a network whose update has its line of metrics already.
void TrainRun::RecordLate(const std::optional<ValidationReport>& report) {
  if (!report) return;
  const Span span(Activity::kReport);
  RecordValidation(*report);
  files_->AddToLastMetrics(ValidationJson(*report, config_), so_far_);
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

void TrainRun::AwaitCheckpoint() {
  const Attach attach(time_.main());
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  SaveOnFailure([this] { files_->Wait(); });
}

// Saves the state from before the update, because a failure may have left the network in any state.
void TrainRun::SaveUnfinished() {
  const Span span(Activity::kCheckpoint);
  const auto warn = [](std::string_view why) {
    LogWarning(fmt::format(
        "cannot save the state before the update: {} The last checkpoint stays as it is.", why));
  };
  try {
    files_->SaveUnfinished(State());
  } catch (const c10::Error& error) {
    warn(MessageFor(error));
  } catch (const std::exception& error) {
    warn(error.what());
  } catch (...) {
    warn("unknown exception (not derived from std::exception).");
  }
}

RunSummary TrainRun::Finish() {
  RequireNoFailure();
  const Attach attach(time_.main());
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  time_.OnTrainingEnd();
  std::string weights_sha256;
  SaveOnFailure([&] {
    if (end_ != RunEnd::kStopped) RecordLate(validation_.ValidateAtEnd(*components_));
    for (const auto& section : sections_) section->OnTrainingEnd();
    const Span span(Activity::kCheckpoint);
    weights_sha256 = files_->SaveCheckpoint(State());
  });
  const Span span(Activity::kCheckpoint);
  RunSummary summary = MakeSummary(std::move(weights_sha256));
  SaveOnFailure([&] {
    const Span writing(Activity::kReport);
    files_->SaveSummary(SummaryJson(summary, config_, device_->description()));
    // Comes last, so that the run is complete even if the generators cannot be told.
    if (end_ != RunEnd::kStopped) components_->EndStream();
  });
  return summary;
}

RunSummary TrainRun::MakeSummary(std::string weights_sha256) {
  RunSummary summary;
  static_cast<RunCounters&>(summary) = Counters();
  summary.end = end_;
  summary.since_update = first_update_;
  summary.last_fill = last_fill_;
  summary.parameters = num_parameters();
  summary.peak_rss_bytes = PeakRssBytes();
  summary.cores = cores_;
  summary.weights_sha256 = std::move(weights_sha256);
  summary.time = time_.Report();
  for (const auto& section : sections_) section->Report(summary);
  summary.bottleneck = DescribeBottleneck(summary.time, config_, summary.cores);
  summary.learning = DescribeLearning(summary, config_, longest_label_);
  return summary;
}

}  // namespace tandem
