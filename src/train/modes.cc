#include "train/modes.h"

#include <utility>

#include "base/stopwatch.h"
#include "data/replay_buffer.h"
#include "generate/bellman.h"
#include "train/inference_queue.h"

namespace tandem {
namespace {

class AsyncPipeline final : public Pipeline {
 public:
  AsyncPipeline(Generator& generator, Trainer& trainer, const Schema& schema,
                PipelineOptions options, const StopSignal& stop)
      : trainer_(trainer),
        options_(options),
        stop_(stop),
        target_(generator, trainer, options.loss_thresh, options.target),
        next_(options.first_update),
        fills_(generator, schema, options.rows_per_update, stop) {}

  UpdateRecord RunUpdate() override {
    const Stopwatch watch;
    const std::int64_t k = next_++;
    UpdateRecord record{.update = k};
    if (k == options_.first_update) StartFill(k);  // the cold start

    const GeneratorThread::Filled filled = fills_.Wait();
    record.fill = filled.stats;
    record.wait_for_rows_s = watch.Seconds();
    record.lag_updates = target_.LagOf(k);
    record.target_age_updates = target_.AgeOf(k);

    target_.Offer(k);
    if (k + 1 < options_.max_updates) StartFill(k + 1);
    record.train = trainer_.Train(k, filled.slot.rows(), stop_);
    target_.Trained(record.train.loss);
    record.seconds = watch.Seconds();
    return record;
  }

  void EndAt(std::int64_t max_updates) override { options_.max_updates = max_updates; }

  TargetState target() const override { return target_.state(); }

 private:
  void StartFill(std::int64_t update) {
    target_.LabellingStarts(update);
    fills_.Start(update);
  }

  Trainer& trainer_;
  PipelineOptions options_;
  const StopSignal& stop_;
  TargetNetworkSchedule target_;
  std::int64_t next_;
  GeneratorThread fills_;
};

}  // namespace

std::unique_ptr<Pipeline> MakeAsyncPipeline(Generator& generator, Trainer& trainer,
                                            const Schema& schema, PipelineOptions options,
                                            const StopSignal& stop) {
  return std::make_unique<AsyncPipeline>(generator, trainer, schema, options, stop);
}

namespace {

class SequentialPipeline final : public Pipeline {
 public:
  SequentialPipeline(Generator& generator, Trainer& trainer, const Schema& schema,
                     PipelineOptions options, const StopSignal& stop)
      : trainer_(trainer),
        options_(options),
        stop_(stop),
        target_(generator, trainer, options.loss_thresh, options.target),
        next_(options.first_update),
        fills_(generator, schema, options.rows_per_update, stop) {}

  UpdateRecord RunUpdate() override {
    const Stopwatch watch;
    const std::int64_t k = next_++;
    UpdateRecord record{.update = k};
    if (options_.policy_lag == 0 && k > 0) target_.Offer(k);
    target_.LabellingStarts(k);
    fills_.Start(k);

    const GeneratorThread::Filled filled = fills_.Wait();
    record.fill = filled.stats;
    record.wait_for_rows_s = watch.Seconds();
    record.lag_updates = target_.LagOf(k);
    record.target_age_updates = target_.AgeOf(k);

    // async refreshes the target network here, before it starts the fill of buffer k + 1.
    if (options_.policy_lag == 1) target_.Offer(k);
    record.train = trainer_.Train(k, filled.slot.rows(), stop_);
    target_.Trained(record.train.loss);
    record.seconds = watch.Seconds();
    return record;
  }

  void EndAt(std::int64_t max_updates) override { options_.max_updates = max_updates; }

  TargetState target() const override { return target_.state(); }

 private:
  Trainer& trainer_;
  PipelineOptions options_;
  const StopSignal& stop_;
  TargetNetworkSchedule target_;
  std::int64_t next_;
  GeneratorThread fills_;
};

}  // namespace

std::unique_ptr<Pipeline> MakeSequentialPipeline(Generator& generator, Trainer& trainer,
                                                 const Schema& schema, PipelineOptions options,
                                                 const StopSignal& stop) {
  return std::make_unique<SequentialPipeline>(generator, trainer, schema, options, stop);
}

namespace {

// Reports the end of each fill to the queue, so that the main thread can serve requests while it
// waits for a fill.
class FillEndReporter final : public Generator {
 public:
  FillEndReporter(Generator& generator, InferenceQueue& queue)
      : generator_(generator), queue_(queue) {}

  bool needs_network() const override { return generator_.needs_network(); }
  const Schema& schema() const override { return generator_.schema(); }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    try {
      generator_.Fill(request, out, stop);
    } catch (...) {
      queue_.FillEnds();
      throw;
    }
    queue_.FillEnds();
  }

 private:
  Generator& generator_;
  InferenceQueue& queue_;
};

class SyncMainPipeline final : public Pipeline {
 public:
  SyncMainPipeline(Generator& generator, Trainer& trainer, const Schema& examples,
                   PipelineOptions options, const StopSignal& stop, SyncMainComponents components)
      : trainer_(trainer),
        options_(options),
        stop_(stop),
        components_(components),
        target_(generator, trainer, options.loss_thresh, options.target),
        next_(options.first_update),
        examples_(examples, static_cast<std::size_t>(options.rows_per_update)),
        generator_(generator, components.queue),
        fills_(generator_, components.replay.schema(), options.rows_per_update, stop) {
    trainer.BetweenIterations([this] { components_.queue.Serve(); });
  }

  ~SyncMainPipeline() override {
    trainer_.BetweenIterations({});
    // Otherwise a fill that waits for a result would wait for ever.
    components_.queue.Close(std::make_exception_ptr(Stopped()));
  }
  SyncMainPipeline(const SyncMainPipeline&) = delete;
  SyncMainPipeline& operator=(const SyncMainPipeline&) = delete;

  UpdateRecord RunUpdate() override {
    const Stopwatch watch;
    const double answered_before = components_.queue.seconds();
    const std::int64_t k = next_++;
    UpdateRecord record{.update = k};
    if (k == options_.first_update) fills_.Start(k);  // the cold start
    record.fill = TakeIntoReplay(k);
    record.wait_for_rows_s = watch.Seconds();
    if (k + 1 < options_.max_updates) fills_.Start(k + 1);

    target_.Offer(k);
    target_.LabellingStarts(k);
    record.lag_updates = target_.LagOf(k);
    record.target_age_updates = target_.AgeOf(k);
    record.label_s = LabelSample();
    record.train = trainer_.Train(k, examples_, stop_);
    target_.Trained(record.train.loss);
    record.answer_s = components_.queue.seconds() - answered_before;
    record.seconds = watch.Seconds();
    return record;
  }

  void EndAt(std::int64_t max_updates) override { options_.max_updates = max_updates; }

  TargetState target() const override { return target_.state(); }

 private:
  FillStats TakeIntoReplay(std::int64_t update) {
    components_.queue.ServeUntilFillEnds();
    const GeneratorThread::Filled filled = fills_.Wait();
    components_.replay.Add(update, filled.slot.rows());
    return filled.stats;
  }

  // Labels this update's sample from replay and returns the seconds it took.
  double LabelSample() {
    const Stopwatch watch;
    PipelinedLoop labelling =
        components_.targets.Start(components_.replay.Sample(), examples_, stop_);
    components_.queue.Serve();
    while (labelling.Step()) components_.queue.Serve();
    return watch.Seconds();
  }

  Trainer& trainer_;
  PipelineOptions options_;
  const StopSignal& stop_;
  const SyncMainComponents components_;
  TargetNetworkSchedule target_;
  std::int64_t next_;
  DataBuffer examples_;  // the labelled sample of the current update
  FillEndReporter generator_;
  GeneratorThread fills_;
};

}  // namespace

std::unique_ptr<Pipeline> MakeSyncMainPipeline(Generator& generator, Trainer& trainer,
                                               const Schema& examples, PipelineOptions options,
                                               const StopSignal& stop,
                                               SyncMainComponents components) {
  return std::make_unique<SyncMainPipeline>(generator, trainer, examples, options, stop,
                                            components);
}

}  // namespace tandem
