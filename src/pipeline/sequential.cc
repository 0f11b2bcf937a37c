#include "base/stopwatch.h"
#include "pipeline/pipeline.h"

namespace tandem {
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

}  // namespace tandem
