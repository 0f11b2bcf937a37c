#include "pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <span>
#include <utility>

#include "base/timeline.h"
#include "config/fields.h"
#include "data/examples.h"

namespace tandem {

std::optional<LabelStats> LabelStatsOf(const DataBuffer& rows) {
  if (rows.schema().columns.size() <= kTargetColumn) return std::nullopt;
  if (rows.memory() == Memory::kDevice) return std::nullopt;
  const std::span<const float> labels = rows.floats(kTargetColumn);
  const std::span<const float> weights =
      HasWeights(rows.schema()) ? rows.floats(kWeightColumn) : std::span<const float>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  LabelStats stats{.min = kInfinity, .max = -kInfinity};
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!weights.empty() && weights[i] == 0) continue;
    const double label = labels[i];
    sum += label;
    stats.min = std::min(stats.min, label);
    stats.max = std::max(stats.max, label);
    ++count;
  }
  if (count == 0) return std::nullopt;
  stats.mean = sum / static_cast<double>(count);
  return stats;
}

void TargetNetworkSchedule::RefreshIfDue(std::int64_t updates) {
  if (!needs_network_ && publisher_ == nullptr) return;
  state_.offered = updates;
  const bool is_due = updates % config_.refresh_every == 0 &&
                      (!config_.loss_thresh || state_.last_loss <= *config_.loss_thresh);
  if (updates > 0 && !is_due) return;
  if (needs_network_) trainer_.RefreshTarget();
  if (publisher_ != nullptr) publisher_->Publish(updates);
  state_.refreshed = updates;
}

Pipeline::Pipeline(const Config& config, const PipelineParts& parts, std::int64_t first_update,
                   std::int64_t end_update, const PipelineState& state, const StopSignal& stop)
    : mode_(config.pipeline.mode),
      policy_lag_(*config.pipeline.policy_lag),
      iterations_per_update_(config.train.iterations_per_update),
      labels_are_costs_(config.network.head == Head::kV || config.network.head == Head::kQ),
      parts_(parts),
      stop_(stop),
      first_update_(first_update),
      end_update_(end_update),
      next_(first_update),
      target_(parts.generator != nullptr && parts.generator->needs_network() &&
                  (parts.queue == nullptr || parts.labeller != nullptr),
              parts.trainer, config.pipeline, state.target, parts.publisher),
      curriculum_(config.generate, state.longest_scramble) {
  const std::int64_t rows = config.live_rows();
  if (parts.labeller != nullptr) {
    labelled_ = WithMemoryAdvice(kToSpareBuffers, [&] {
      return DataBuffer(parts.labeller->example_schema(), static_cast<std::size_t>(rows));
    });
  }
  if (parts.generator != nullptr) {
    fills_.emplace(*parts.generator, rows, parts.queue, stop, parts.interrupter, parts.rank);
  }
}

Pipeline::~Pipeline() {
  // Otherwise a fill that waits for a result would wait for ever.
  if (parts_.queue != nullptr) parts_.queue->Close(std::make_exception_ptr(Stopped()));
}

UpdateRecord Pipeline::RunUpdate() {
  const Stopwatch watch;
  UpdateRecord record{.update = next_++, .fill = {.began = watch.start()}};
  if (!fills_) {
    target_.RefreshIfDue(record.update);  // to generators in other processes
    Train(nullptr, record);               // all rows come from shards or a stream
  } else {
    switch (mode_) {
      case Mode::kAsync:
        Async(record);
        break;
      case Mode::kSequential:
        Sequential(record);
        break;
      case Mode::kSyncMain:
        SyncMain(record);
        break;
    }
  }
  record.seconds = watch.Seconds();
  return record;
}

// Fills buffer k + 1 in the background while it trains on buffer k. The wait for the first fill is
// the cold start.
void Pipeline::Async(UpdateRecord& record) {
  const std::int64_t k = record.update;
  if (k == first_update_) StartFill(k);  // the cold start
  const DoubleBuffer::ReadSlot slot = WaitForRows(record);
  target_.RefreshIfDue(k);
  if (k + 1 < end_update_) StartFill(k + 1);
  Train(&Replayed(k, slot.rows()), record);
}

// Fills a buffer, then trains on it. With a policy lag of 1 it does exactly the work of async in
// another order, and so gives the same weights.
void Pipeline::Sequential(UpdateRecord& record) {
  const std::int64_t k = record.update;
  if (policy_lag_ == 0 && k > 0) target_.RefreshIfDue(k);
  StartFill(k);
  const DoubleBuffer::ReadSlot slot = WaitForRows(record);
  if (policy_lag_ == 1) target_.RefreshIfDue(k);  // where async does it
  Train(&Replayed(k, slot.rows()), record);
}

// Lets the network being trained guide the generator's searches. The main thread serves their
// requests between its iterations, between the chunks that it labels, and while it waits for a
// buffer. Buffers hold states without labels; update k labels those that it draws from replay.
// Games have labels when they end. The weights that a search sees depend on timing, so two runs
// with the same seed may differ.
void Pipeline::SyncMain(UpdateRecord& record) {
  const std::int64_t k = record.update;
  InferenceQueue& queue = *parts_.queue;
  const double served_before = queue.seconds();
  if (k == first_update_) StartFillOfStates(k);  // the cold start
  {
    const ScopedTimer timer(record.wait_for_rows_s);
    queue.ServeUntilFillEnds();
  }
  parts_.replay->Add(k, WaitForRows(record).rows());
  if (k + 1 < end_update_) StartFillOfStates(k + 1);
  target_.RefreshIfDue(k);
  const DataBuffer& sample =
      parts_.labeller != nullptr ? LabelledSample(record) : parts_.replay->Sample();
  Train(&sample, record, [&queue] { queue.Serve(); });
  record.serve_s = queue.seconds() - served_before;
}

// Starts a fill that the target network labels.
void Pipeline::StartFill(std::int64_t update) {
  target_.OnLabelling(update);
  StartFillOfStates(update);
}

void Pipeline::StartFillOfStates(std::int64_t update) {
  fills_->Start(update, curriculum_.longest_scramble());
}

DoubleBuffer::ReadSlot Pipeline::WaitForRows(UpdateRecord& record) {
  const ScopedTimer timer(record.wait_for_rows_s);
  GeneratorThread::Filled filled = fills_->Wait();
  record.fill = filled.stats;
  curriculum_.FillEnds(record.fill.searches_solved);  // every mode starts the next fill after this
  return std::move(filled.slot);
}

// Returns `rows`, the buffer of `update`, or with replay a sample of them and of earlier buffers.
const DataBuffer& Pipeline::Replayed(std::int64_t update, const DataBuffer& rows) const {
  if (parts_.replay == nullptr) return rows;
  parts_.replay->Add(update, rows);
  return parts_.replay->Sample();
}

// Draws this update's states from replay and labels them with the target network. Serves the
// requests of searches between two chunks.
const DataBuffer& Pipeline::LabelledSample(UpdateRecord& record) {
  const ScopedTimer timer(record.label_s);
  target_.OnLabelling(record.update);
  PipelinedLoop labelling =
      parts_.labeller->Start(record.update, parts_.replay->Sample(), *labelled_, stop_);
  do {
    parts_.queue->Serve();
  } while (labelling.Step());
  const Span span(Activity::kBackUp);
  CheckTargets(*labelled_, fmt::format("the sample of update {}", record.update));
  return *labelled_;
}

// Trains on `rows`, or on rows from shards or a stream alone if `rows` is null.
void Pipeline::Train(const DataBuffer* rows, UpdateRecord& record,
                     const std::function<void()>& between_iterations) {
  const Stopwatch watch;
  const double waited_before_s = Timeline::CurrentTimes().WaitForOthers();
  record.lag_updates = target_.LagOf(record.update);
  record.target_age_updates = target_.AgeOf(record.update);
  if (rows != nullptr && labels_are_costs_) {
    const Span span(Activity::kReport);
    record.labels = LabelStatsOf(*rows);
  }
  const Section section("train", record.update);
  if (rows != nullptr) EndArrow(kRowsArrow, record.update);
  const std::unique_ptr<TrainPass> pass = parts_.trainer.Begin(record.update, rows);
  parts_.hooks.on_training_start();
  // A stop may come while an iteration waits for rows of a stream.
  const auto step = [&] {
    try {
      return pass->Step();
    } catch (const Stopped&) {
      if (!stop_.Reached()) throw;
      return false;
    }
  };
  while (!stop_.Reached() && step()) {
    parts_.hooks.on_iteration_end(pass->iterations_of_run());
    between_iterations();
  }
  record.train = pass->Finish();
  record.complete = record.train.iterations == iterations_per_update_;
  record.train.began = watch.start();
  record.train.seconds = watch.Seconds();
  record.train.wait_s = Timeline::CurrentTimes().WaitForOthers() - waited_before_s;
  target_.OnUpdate(record.train.loss);
}

}  // namespace tandem
