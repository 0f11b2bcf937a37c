#include "compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tandem {
namespace {

template <class Measure>
Spread Over(const std::vector<RunRecord>& runs, const Measure& measure) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunRecord& run : runs) values.push_back(measure(run));
  return SpreadOf(values);
}

std::optional<Spread> SpreadOfAll(const std::vector<std::optional<double>>& values) {
  std::vector<double> known;
  for (const std::optional<double>& value : values) {
    if (!value) return std::nullopt;
    known.push_back(*value);
  }
  return SpreadOf(known);
}

// The last one measured by `seconds` after the start.
std::optional<double> SolveRateAt(const RunRecord& run, double seconds) {
  std::optional<double> rate;
  for (const UpdatePoint& point : run.curve) {
    if (point.seconds <= seconds && point.solve_rate) rate = point.solve_rate;
  }
  return rate;
}

double FirstDone(std::span<const VariantRuns> variants, std::size_t seed) {
  double seconds = variants.front().runs[seed].curve.back().seconds;
  for (const VariantRuns& each : variants) {
    seconds = std::min(seconds, each.runs[seed].curve.back().seconds);
  }
  return seconds;
}

const VariantRuns* SequentialBeside(std::span<const VariantRuns> variants, const Variant& variant) {
  for (const VariantRuns& each : variants) {
    if (each.variant.mode == "sequential" && each.variant.varied == variant.varied) return &each;
  }
  return nullptr;
}

void FillEfficiency(const VariantRuns& overlapped, const VariantRuns* sequential, Row& row) {
  if (overlapped.variant.mode != "async" || sequential == nullptr) return;
  std::vector<double> efficiency;
  std::vector<std::string> bounds;  // each once
  for (std::size_t seed = 0; seed < overlapped.runs.size(); ++seed) {
    const Ideal ideal = IdealOf(sequential->runs[seed]);
    efficiency.push_back(ideal.seconds / overlapped.runs[seed].seconds);
    if (std::ranges::find(bounds, ideal.bound_by) == bounds.end()) bounds.push_back(ideal.bound_by);
  }
  row.efficiency = SpreadOf(efficiency);
  row.bound_by = fmt::format("{}", fmt::join(bounds, ", "));
}

Row RowOf(std::span<const VariantRuns> variants, const VariantRuns& of) {
  const auto& runs = of.runs;
  Row row;
  row.variant = of.variant;
  row.updates_per_s =
      Over(runs, [](const auto& r) { return static_cast<double>(r.updates) / r.seconds; });
  row.examples_per_s =
      Over(runs, [](const auto& r) { return static_cast<double>(r.examples) / r.seconds; });
  row.generate_s = Over(runs, [](const auto& r) { return r.generate_s; });
  row.train_s = Over(runs, [](const auto& r) { return r.train_s; });
  row.idle_workers = Over(runs, [](const auto& r) { return r.idle_workers; });
  row.idle_main = Over(runs, [](const auto& r) { return r.idle_main; });
  if (runs.front().gpu_s) {
    row.idle_gpu = Over(runs, [](const auto& r) { return 1 - *r.gpu_s / r.seconds; });
  }
  row.lag_updates = Over(runs, [](const auto& r) { return r.lag_updates; });
  row.final_loss = Over(runs, [](const auto& r) { return r.final_loss; });

  const std::vector<RunRecord>& first = variants.front().runs;
  std::vector<std::optional<double>> solved;
  std::vector<std::optional<double>> solved_by_then;
  std::vector<double> speed_up;
  row.weights_equal_first = true;
  for (std::size_t seed = 0; seed < runs.size(); ++seed) {
    solved.push_back(SolveRateAt(runs[seed], runs[seed].curve.back().seconds));
    solved_by_then.push_back(SolveRateAt(runs[seed], FirstDone(variants, seed)));
    speed_up.push_back(first[seed].seconds / runs[seed].seconds);
    if (runs[seed].weights_sha256 != first[seed].weights_sha256) row.weights_equal_first = false;
  }
  row.solve_rate = SpreadOfAll(solved);
  row.solve_rate_equal_time = SpreadOfAll(solved_by_then);
  row.speed_up = SpreadOf(speed_up);
  FillEfficiency(of, SequentialBeside(variants, of.variant), row);
  return row;
}

}  // namespace

Ideal IdealOf(const RunRecord& sequential) {
  Ideal ideal{.seconds = sequential.generate_s, .bound_by = "generator"};
  const auto consider = [&](double seconds, const char* what) {
    if (seconds > ideal.seconds) ideal = {.seconds = seconds, .bound_by = what};
  };
  consider(sequential.train_s, "training");
  consider(sequential.core_s / sequential.cores, "cores");
  consider(sequential.gpu_s.value_or(0), "GPU");
  return ideal;
}

std::vector<Row> Compare(std::span<const VariantRuns> variants) {
  std::vector<Row> rows;
  rows.reserve(variants.size());
  for (const VariantRuns& each : variants) rows.push_back(RowOf(variants, each));
  return rows;
}

}  // namespace tandem
