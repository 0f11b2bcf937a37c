#include "run/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

// Two solve rates count as different if they differ by this many standard errors.
constexpr double kClearly = 2;

// The error against known lengths counts as lower if it falls below this share of its old value.
constexpr double kLowerError = 0.9;

double Variance(double rate) { return rate * (1 - rate); }

// Returns whether solve rate `a` exceeds `b` by more than chance explains.
bool IsClearlyAbove(double a, double b, std::int64_t states) {
  const double error = std::sqrt((Variance(a) + Variance(b)) / static_cast<double>(states));
  return a - b > kClearly * error;
}

std::string Percent(const ValidationResult& result) {
  return fmt::format("{:.1f} %", 100 * result.solve_rate);
}

}  // namespace

bool HasGrowingTargets(const TrainConfig& config) {
  return config.generate.target != Target::kWalkLength && config.live_rows_of(0) > 0;
}

std::string ErrorKey(const TrainConfig& config) {
  return config.validation.file.empty() ? "walk_length_error" : "value_error";
}

std::string DescribeError(double error, const TrainConfig& config) {
  if (!config.validation.file.empty()) {
    return fmt::format(", error against optimal lengths {:.2f}", error);
  }
  if (config.generate.target != Target::kWalkLength) return "";
  return fmt::format(", error against walk lengths {:.2f}", error);
}

std::string DescribeLearning(const RunCounters& run, const TrainConfig& config) {
  if (config.validation.every_updates == 0) {
    return "whether the network is learning is unknown, because validation.every_updates is 0";
  }
  if (!run.validation) {
    return "whether the network is learning is unknown: the run ended before its first validation";
  }
  const ValidationResult& now = *run.validation;
  const std::int64_t states = config.validation.states;
  const std::string solves =
      fmt::format("greedy descent solves {} of the validation states", Percent(now));
  if (run.best && IsClearlyAbove(run.best->solve_rate, now.solve_rate, states)) {
    return fmt::format(
        "the network was learning and has got worse: {}, and solved {} after update {}, the "
        "network "
        "in best.pt; lower optimizer.learning_rate (now {})",
        solves, Percent(*run.best), run.best_update, config.optimizer.learning_rate);
  }
  if (!run.at_start) return fmt::format("{}; the share before training was not measured", solves);
  const ValidationResult& start = *run.at_start;
  const std::string both = fmt::format("{}, and solved {} before training", solves, Percent(start));
  if (IsClearlyAbove(now.solve_rate, start.solve_rate, states)) {
    return "the network is learning: " + both;
  }
  if (IsClearlyAbove(start.solve_rate, now.solve_rate, states)) {
    return fmt::format("the network has got worse: {}; lower optimizer.learning_rate (now {})",
                       both, config.optimizer.learning_rate);
  }
  const bool error_counts = !DescribeError(0, config).empty();
  if (error_counts && now.value_error < kLowerError * start.value_error) {
    return fmt::format(
        "the network is learning, but does not solve more states yet: {}; the error against {} "
        "lengths fell "
        "from {:.2f} to {:.2f}",
        both, config.validation.file.empty() ? "walk" : "optimal", start.value_error,
        now.value_error);
  }
  if (start.solve_rate > 0.5) {
    return "the network solves about as many states as before training: " + both;
  }
  return fmt::format(
      "the network shows no sign of learning yet: {}; train longer, or lower "
      "generate.max_scramble (now {})",
      both, config.generate.max_scramble);
}

}  // namespace tandem
