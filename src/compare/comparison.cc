#include "compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace tandem {
namespace {

// Returns the spread of `measure`, a member of RunRecord or a function of one, over the runs. If
// the measure is optional, the spread is too.
template <class Measure>
auto SpreadOver(const std::vector<RunRecord>& runs, const Measure& measure) {
  std::vector<std::remove_cvref_t<std::invoke_result_t<Measure, const RunRecord&>>> values;
  values.reserve(runs.size());
  for (const RunRecord& run : runs) values.push_back(std::invoke(measure, run));
  return SpreadOf(values);
}

// Returns the solve rate at `seconds`, interpolated between the validations before and after, or
// the last one if none came after. Using only the last one before would favour the run that was
// just validated, which is the first to end.
std::optional<double> SolveRateAt(const RunRecord& run, double seconds) {
  const UpdatePoint* before = nullptr;
  for (const UpdatePoint& point : run.curve) {
    if (!point.solve_rate) continue;
    if (point.seconds <= seconds) {
      before = &point;
      continue;
    }
    if (before == nullptr) return std::nullopt;
    const double part = (seconds - before->seconds) / (point.seconds - before->seconds);
    return std::lerp(*before->solve_rate, *point.solve_rate, part);
  }
  return before != nullptr ? before->solve_rate : std::nullopt;
}

// Returns nothing if a value is missing on either side.
std::optional<double> ChanceBetween(const std::vector<std::optional<double>>& values,
                                    const std::vector<std::optional<double>>& first) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i] || !first[i]) return std::nullopt;
    differences.push_back(*values[i] - *first[i]);
  }
  return ChanceOf(differences);
}

// Joins the distinct names, in the order of their first appearance.
std::string Distinct(const std::vector<std::string>& names) {
  std::vector<std::string> once;
  for (const std::string& name : names) {
    if (std::ranges::find(once, name) == once.end()) once.push_back(name);
  }
  return fmt::format("{}", fmt::join(once, ", "));
}

double EarliestEnd(std::span<const VariantRuns> variants, std::size_t seed) {
  double seconds = variants.front().runs[seed].curve.back().seconds;
  for (const VariantRuns& each : variants) {
    seconds = std::min(seconds, each.runs[seed].curve.back().seconds);
  }
  return seconds;
}

const VariantRuns* SequentialCounterpart(std::span<const VariantRuns> variants,
                                         const Variant& variant) {
  for (const VariantRuns& each : variants) {
    if (each.variant.mode == "sequential" && each.variant.varied == variant.varied &&
        each.variant.ranks == variant.ranks) {
      return &each;
    }
  }
  return nullptr;
}

void FillIdeal(const VariantRuns& overlapped, const VariantRuns* sequential, Row& row) {
  if (overlapped.variant.mode != "async" || sequential == nullptr) return;
  std::vector<double> speed_up;
  std::vector<std::string> bounds;
  for (const RunRecord& run : sequential->runs) {
    const Ideal ideal = IdealOf(run);
    speed_up.push_back(run.seconds / ideal.seconds);
    bounds.push_back(ideal.bound_by);
  }
  row.ideal_speed_up = SpreadOf(speed_up);
  row.ideal_bound_by = Distinct(bounds);
}

void FillBusy(const std::vector<RunRecord>& runs, Row& row) {
  std::vector<double> shares;
  std::vector<std::string> sides;
  for (const RunRecord& run : runs) {
    const Busy busy = BusyOf(run);
    shares.push_back(busy.share);
    sides.push_back(busy.side);
  }
  row.busy = SpreadOf(shares);
  row.busiest = Distinct(sides);
}

// The solve rates of a variant's runs, one for each seed.
struct SolveRates {
  std::vector<std::optional<double>> at_end, at_equal_time;
};

SolveRates SolveRatesOf(std::span<const VariantRuns> variants, const std::vector<RunRecord>& runs) {
  SolveRates rates;
  for (std::size_t seed = 0; seed < runs.size(); ++seed) {
    rates.at_end.push_back(SolveRateAt(runs[seed], runs[seed].curve.back().seconds));
    rates.at_equal_time.push_back(SolveRateAt(runs[seed], EarliestEnd(variants, seed)));
  }
  return rates;
}

void CompareWithFirst(std::span<const VariantRuns> variants, const VariantRuns& variant, Row& row) {
  const std::vector<RunRecord>& first = variants.front().runs;
  std::vector<double> speed_up;
  std::vector<double> log_speed_up;
  for (std::size_t seed = 0; seed < variant.runs.size(); ++seed) {
    speed_up.push_back(first[seed].seconds / variant.runs[seed].seconds);
    log_speed_up.push_back(std::log(speed_up.back()));
  }
  row.speed_up = SpreadOf(speed_up);
  row.weights_equal_first = EqualWeights(variant, variants.front());
  const SolveRates rates = SolveRatesOf(variants, variant.runs);
  row.solve_rate = SpreadOf(rates.at_end);
  row.solve_rate_equal_time = SpreadOf(rates.at_equal_time);
  if (&variant == &variants.front()) return;
  const SolveRates first_rates = SolveRatesOf(variants, first);
  row.speed_up_chance = ChanceOf(log_speed_up);
  row.solve_rate_chance = ChanceBetween(rates.at_end, first_rates.at_end);
  row.solve_rate_equal_time_chance = ChanceBetween(rates.at_equal_time, first_rates.at_equal_time);
}

Row RowOf(std::span<const VariantRuns> variants, const VariantRuns& variant) {
  const std::vector<RunRecord>& runs = variant.runs;
  const auto per_second = [](auto count) {
    return [count](const RunRecord& run) { return static_cast<double>(run.*count) / run.seconds; };
  };
  Row row;
  row.variant = variant.variant;
  row.updates_per_s = SpreadOver(runs, per_second(&RunRecord::updates));
  row.examples_per_s = SpreadOver(runs, per_second(&RunRecord::examples));
  row.generate_critical_s = SpreadOver(runs, &RunRecord::generate_critical_s);
  row.train_critical_s = SpreadOver(runs, &RunRecord::train_critical_s);
  row.idle_workers = SpreadOver(runs, &RunRecord::idle_workers);
  row.idle_main = SpreadOver(runs, &RunRecord::idle_main);
  row.idle_gpu = SpreadOver(runs, [](const RunRecord& run) {
    return run.gpu_s ? std::optional(1 - *run.gpu_s / run.seconds) : std::nullopt;
  });
  row.lag_updates = SpreadOver(runs, &RunRecord::lag_updates);
  row.final_loss = SpreadOver(runs, &RunRecord::final_loss);
  CompareWithFirst(variants, variant, row);
  FillIdeal(variant, SequentialCounterpart(variants, variant.variant), row);
  FillBusy(runs, row);
  return row;
}

}  // namespace

Ideal IdealOf(const RunRecord& run) {
  Ideal ideal{.seconds = run.generate_critical_s, .bound_by = "generator"};
  const auto consider = [&](double seconds, const char* what) {
    if (seconds > ideal.seconds) ideal = {.seconds = seconds, .bound_by = what};
  };
  consider(run.train_critical_s, "training");
  consider(run.core_s / run.cores, "cores");
  consider(run.gpu_s.value_or(0), "GPU");
  return ideal;
}

Busy BusyOf(const RunRecord& run) {
  const Ideal ideal = IdealOf(run);
  return {.share = std::min(ideal.seconds / run.seconds, 1.0), .side = ideal.bound_by};
}

bool EqualWeights(const VariantRuns& runs, const VariantRuns& others) {
  return std::ranges::equal(runs.runs, others.runs, [](const RunRecord& a, const RunRecord& b) {
    return !a.weights_sha256.empty() && a.weights_sha256 == b.weights_sha256;
  });
}

std::vector<Row> Compare(std::span<const VariantRuns> variants) {
  std::vector<Row> rows;
  rows.reserve(variants.size());
  for (const VariantRuns& each : variants) rows.push_back(RowOf(variants, each));
  return rows;
}

}  // namespace tandem
