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
                             const StopSignal& requests)
    : config_(std::move(config)), so_far_(so_far), requests_(requests) {}

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

std::optional<ValidationReport> RunValidation::ValidateIfDue(Components& components) {
  if (components.validator == nullptr) return std::nullopt;
  const std::int64_t every = config_.every_updates;
  if (every == 0 || so_far_.updates == 0 || so_far_.updates % every != 0) return std::nullopt;
  // The pipeline of a resumed run has not seen the result of the checkpoint.
  if (has_result() && so_far_.validation) {
    components.pipeline->OnValidation(so_far_.validation->solve_rate);
  }
  std::optional<ValidationReport> report = Validate(components);
  if (report) components.pipeline->OnValidation(report->solve_rate);
  return report;
}

std::optional<ValidationReport> RunValidation::ValidateAtEnd(Components& components) {
  if (components.validator == nullptr || has_result()) return std::nullopt;
  std::optional<ValidationReport> report = Validate(components);
  if (!report) LogWarning("the last validation was stopped, so it has no result");
  return report;
}

std::optional<ValidationReport> RunValidation::Validate(Components& components) {
  if (has_result()) return std::nullopt;
  const ScopedTimer timer(so_far_.validate_s);
  const Span span(Activity::kValidation);
  FaultPoint(Fault::kValidate);
  try {
    return components.validator->Validate(components.trainer.saved_net(), requests_);
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

bool RunValidation::IsBest(const ValidationReport& report) const {
  return !so_far_.best || IsBetter(report, *so_far_.best, config_.best_by);
}

void RunValidation::Record(const ValidationReport& report) {
  if (IsBest(report)) {
    so_far_.best = report;
    so_far_.best_update = so_far_.updates;
  }
  so_far_.validation = report;
  so_far_.validated_iterations = so_far_.iterations;
}

}  // namespace tandem
