#include "apps/torch/progress_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "apps/output.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "train/report.h"

namespace tandem {
namespace {

constexpr double kTerminalInterval = 0.1;  // seconds
constexpr double kPlainInterval = 10;
constexpr int kNarrowestBar = 5;
constexpr int kWidestBar = 30;

// Returns the share of the run that is done, by iterations or by time, whichever is larger.
double DoneShare(const TrainingProgress& progress) {
  const double by_iterations =
      static_cast<double>(progress.iterations) / static_cast<double>(progress.planned_iterations);
  const double by_time = progress.max_seconds > 0 ? progress.seconds / progress.max_seconds : 0.0;
  return std::clamp(std::max(by_iterations, by_time), 1e-9, 1.0);
}

std::string DescribeCurriculum(const TrainingProgress& progress) {
  if (!progress.longest_scramble || !progress.searches_solved) return "";
  return fmt::format("  scrambles up to {}, searches solve {:.0f} %", *progress.longest_scramble,
                     100 * *progress.searches_solved);
}

// `unit` is the name of the rate: short on a terminal, where a line of 100 columns has room for the
// rest and a bar.
std::string DescribeProgress(const TrainingProgress& progress, std::string_view unit) {
  const double done = DoneShare(progress);
  const double rate = static_cast<double>(progress.examples) / progress.seconds;
  return fmt::format(
      "{:3.0f} %  {} {}  loss {}{}{}  {} left", 100 * done,
      WithThousands(static_cast<long long>(rate)), unit,
      progress.loss ? fmt::format("{:.3f}", *progress.loss) : "...", DescribeCurriculum(progress),
      progress.solve_rate ? fmt::format("  solved {:.1f} %", 100 * *progress.solve_rate) : "",
      HumanSeconds(progress.seconds * (1 - done) / done));
}

// Returns how busy the two sides were in the last update: "  gen 12 %  train 98 %". If both are
// below 100 %, they waited for each other or for cores.
std::string DescribeBusyShares(const TrainingProgress& progress, const Config& config) {
  if (!progress.busy) return "";
  const std::string generating =
      config.live_rows() > 0 ? fmt::format("  gen {:.0f} %", 100 * progress.busy->generating) : "";
  return fmt::format("{}  train {:.0f} %", generating, 100 * progress.busy->training);
}

}  // namespace

ProgressDisplay::ProgressDisplay(Config config)
    : terminal_(HasCursor(STDERR_FILENO)), config_(std::move(config)) {}

ProgressDisplay::~ProgressDisplay() { LeaveStatus(); }

void ProgressDisplay::OnIteration(const TrainingProgress& progress) {
  const double interval = terminal_ ? kTerminalInterval : kPlainInterval;
  const bool last = progress.iterations == progress.planned_iterations;
  if (!last && since_shown_.Seconds() < interval) return;
  since_shown_ = Stopwatch();
  Show(progress);
}

void ProgressDisplay::Show(const TrainingProgress& progress) const {
  std::string text = DescribeProgress(progress, terminal_ ? "ex/s" : "examples/s");
  const std::string busy = DescribeBusyShares(progress, config_);
  if (!terminal_) {
    std::fputs((text + busy + "\n").c_str(), stderr);
    return;
  }
  // Leave the last column free, because terminals wrap after it.
  const int columns = TerminalWidth(STDERR_FILENO) - 1;
  const auto width_beside = [&](const std::string& words) {
    return columns - static_cast<int>(words.size()) - 3;
  };
  if (width_beside(text + busy) >= kNarrowestBar) text += busy;
  const int width = std::clamp(width_beside(text), 0, kWidestBar);
  const int filled = static_cast<int>(width * DoneShare(progress));
  const std::string line =
      fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '-'), text);
  ShowStatus(fmt::format("{:.{}}", line, columns));
}

}  // namespace tandem
