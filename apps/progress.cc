#include "apps/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "train/report.h"

namespace tandem {
namespace {

constexpr double kTerminalInterval = 0.1;  // seconds
constexpr double kPlainInterval = 10;
constexpr int kWidestBar = 30;

// Returns the share of the run that is done, by iterations or by time, whichever is larger.
double DoneShare(const Progress& progress) {
  const double by_iterations =
      static_cast<double>(progress.iterations_done) / static_cast<double>(progress.iterations);
  const double by_time = progress.max_seconds > 0 ? progress.seconds / progress.max_seconds : 0.0;
  return std::clamp(std::max(by_iterations, by_time), 1e-9, 1.0);
}

std::string Describe(const Progress& progress) {
  const double done = DoneShare(progress);
  const double rate = static_cast<double>(progress.examples) / progress.seconds;
  return fmt::format(
      "{:3.0f} %  {} examples/s  loss {}{}  {} left", 100 * done,
      WithThousands(static_cast<long long>(rate)),
      progress.loss ? fmt::format("{:.3f}", *progress.loss) : "...",
      progress.solve_rate ? fmt::format("  solved {:.1f} %", 100 * *progress.solve_rate) : "",
      HumanSeconds(progress.seconds * (1 - done) / done));
}

}  // namespace

ProgressDisplay::ProgressDisplay(const Config& config)
    : terminal_(HasCursor(STDERR_FILENO)), config_(config) {}

void ProgressDisplay::OnIteration(const Progress& progress) {
  const double interval = terminal_ ? kTerminalInterval : kPlainInterval;
  const bool last = progress.iterations_done == progress.iterations;
  if (!last && since_shown_.Seconds() < interval) return;
  since_shown_ = Stopwatch();
  Show(progress);
}

void ProgressDisplay::OnValidation(std::int64_t updates, const ValidationReport& report) {
  if (!config_.validation.log) return;
  std::string line = fmt::format("validation after update {}: {:.1f} % solved greedily", updates,
                                 100 * report.solve_rate);
  if (const std::string error = DescribeError(report.value_error, config_); !error.empty()) {
    const auto& errors = report.by_length;
    const LengthError& middle = errors[errors.size() / 2];
    line += fmt::format("{}; at length {} {:.2f}, at {} {:.2f}, at {} {:.2f}", error,
                        errors.front().length, errors.front().value_error, middle.length,
                        middle.value_error, errors.back().length, errors.back().value_error);
  }
  LogInfo(line);
}

void ProgressDisplay::Show(const Progress& progress) {
  if (!terminal_) {
    std::fputs(fmt::format("{}\n", Describe(progress)).c_str(), stderr);
    return;
  }
  // Leave the last column free, because terminals wrap after it.
  const std::string text = Describe(progress);
  const int columns = TerminalWidth(STDERR_FILENO) - 1;
  const int width = std::clamp(columns - static_cast<int>(text.size()) - 3, 0, kWidestBar);
  const int filled = static_cast<int>(width * DoneShare(progress));
  const std::string line =
      fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '-'), text);
  ShowStatus(fmt::format("{:.{}}", line, columns));
}

void ProgressDisplay::Close() { LeaveStatus(); }

}  // namespace tandem
