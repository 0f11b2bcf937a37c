#include "train/run_validation.h"

#include <utility>

#include "base/fault_point.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "base/timeline.h"
#include "train/components.h"
#include "train/validation.h"

namespace tandem {

RunValidation::RunValidation(ValidationConfig config, RunCounters& so_far,
                             const StopSignal& requests, Hooks hooks)
    : config_(std::move(config)), so_far_(so_far), requests_(requests), hooks_(std::move(hooks)) {}

void RunValidation::ValidateAtStart(Components& components) {
  if (components.validator == nullptr || so_far_.iterations > 0 || so_far_.at_start) return;
  const ScopedTimer timer(so_far_.validate_s);
  const Span span(Activity::kSetUp);
  try {
    so_far_.at_start = components.validator->Validate(components.trainer.saved_net(), requests_);
    components.pipeline->OnValidation(so_far_.at_start->solve_rate);
  } catch (const Stopped&) {
  }
}

void RunValidation::ValidateIfDue(Components& components) {
  if (components.validator == nullptr) return;
  const std::int64_t every = config_.every_updates;
  if (every == 0 || so_far_.updates == 0 || so_far_.updates % every != 0) return;
  Validate(components);
  if (has_result()) components.pipeline->OnValidation(so_far_.validation->solve_rate);
}

void RunValidation::ValidateAtEnd(Components& components) {
  if (components.validator == nullptr) return;
  Validate(components);
  if (!has_result()) LogWarning("the last validation was stopped, so it has no result");
}

void RunValidation::Validate(Components& components) {
  if (has_result()) return;
  const ScopedTimer timer(so_far_.validate_s);
  const Span span(Activity::kValidation);
  FaultPoint(Fault::kValidate);
  ValidationReport report;
  try {
    report = components.validator->Validate(components.trainer.saved_net(), requests_);
  } catch (const Stopped&) {
    return;
  }
  if (!so_far_.best || IsBetter(report, *so_far_.best, config_.best_by)) {
    hooks_.on_best();
    so_far_.best = report;
    so_far_.best_update = so_far_.updates;
  }
  so_far_.validation = report;
  so_far_.validated_iterations = so_far_.iterations;
  report_ = std::move(report);
  hooks_.on_validation(*report_);
}

std::optional<ValidationReport> RunValidation::TakeReport() {
  return std::exchange(report_, std::nullopt);
}

}  // namespace tandem
