#include <utility>

#include "base/stopwatch.h"
#include "buffer/replay_buffer.h"
#include "generate/labeller.h"
#include "pipeline/inference_queue.h"
#include "pipeline/pipeline.h"

namespace tandem {
namespace {

// A generator whose fills the main thread can wait for while it answers.
class AnsweredGenerator final : public Generator {
 public:
  AnsweredGenerator(Generator& generator, InferenceQueue& questions)
      : generator_(generator), questions_(questions) {}

  bool asks_network() const override { return generator_.asks_network(); }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    try {
      generator_.Fill(request, out, stop);
    } catch (...) {
      questions_.FillEnds();
      throw;
    }
    questions_.FillEnds();
  }

 private:
  Generator& generator_;
  InferenceQueue& questions_;
};

class SyncMainPipeline final : public Pipeline {
 public:
  SyncMainPipeline(Generator& generator, Trainer& trainer, const Schema& examples,
                   PipelineOptions options, const StopSignal& stop, SyncMainParts parts)
      : trainer_(trainer),
        options_(options),
        stop_(stop),
        parts_(parts),
        books_(generator, trainer, options.loss_thresh, options.target),
        next_(options.first_update),
        examples_(examples, static_cast<std::size_t>(options.rows_per_update)),
        generator_(generator, parts.questions),
        fills_(generator_, parts.replay.schema(), options.rows_per_update, stop) {
    trainer.BetweenIterations([this] { parts_.questions.Serve(); });
  }

  ~SyncMainPipeline() override {
    trainer_.BetweenIterations({});
    // A fill that waits for an answer must not wait for ever.
    parts_.questions.Close(std::make_exception_ptr(Stopped()));
  }
  SyncMainPipeline(const SyncMainPipeline&) = delete;
  SyncMainPipeline& operator=(const SyncMainPipeline&) = delete;

  UpdateRecord RunUpdate() override {
    const Stopwatch watch;
    const double answered_before = parts_.questions.seconds();
    const std::int64_t k = next_++;
    UpdateRecord record{.update = k};
    if (k == options_.first_update) fills_.Start(k);  // the cold start
    record.fill = TakeIntoReplay(k);
    record.wait_for_rows_s = watch.Seconds();
    if (k + 1 < options_.max_updates) fills_.Start(k + 1);

    books_.Offer(k);
    books_.LabellingStarts(k);
    record.lag_updates = books_.LagOf(k);
    record.target_age_updates = books_.AgeOf(k);
    record.label_s = LabelSample();
    record.train = trainer_.Train(k, examples_, stop_);
    books_.Trained(record.train.loss);
    record.answer_s = parts_.questions.seconds() - answered_before;
    record.seconds = watch.Seconds();
    return record;
  }

  void EndAt(std::int64_t max_updates) override { options_.max_updates = max_updates; }

  TargetState target() const override { return books_.state(); }

 private:
  FillStats TakeIntoReplay(std::int64_t update) {
    parts_.questions.ServeUntilFillEnds();
    const FillThread::Filled filled = fills_.Wait();
    parts_.replay.Add(update, filled.lease.rows());
    return filled.stats;
  }

  // Returns how long it took.
  double LabelSample() {
    const Stopwatch watch;
    parts_.labeller.Label(parts_.replay.Sample(), examples_, stop_,
                          [this] { parts_.questions.Serve(); });
    return watch.Seconds();
  }

  Trainer& trainer_;
  PipelineOptions options_;
  const StopSignal& stop_;
  const SyncMainParts parts_;
  TargetBooks books_;
  std::int64_t next_;
  DataBuffer examples_;  // of the update in hand
  AnsweredGenerator generator_;
  FillThread fills_;
};

}  // namespace

std::unique_ptr<Pipeline> MakeSyncMainPipeline(Generator& generator, Trainer& trainer,
                                               const Schema& examples, PipelineOptions options,
                                               const StopSignal& stop, SyncMainParts parts) {
  return std::make_unique<SyncMainPipeline>(generator, trainer, examples, options, stop, parts);
}

}  // namespace tandem
