#include "compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace tandem {
namespace {

// Returns the sum of the differences, with the sign of difference i flipped if bit i of `flipped`
// is set.
double SumWithSigns(std::span<const double> differences, std::uint64_t flipped) {
  double sum = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    sum += (flipped >> (i % 64) & 1) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

}  // namespace

Spread SpreadOf(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  const double median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return {.median = median, .least = sorted.front(), .most = sorted.back()};
}

double ChanceOf(std::span<const double> differences) {
  constexpr std::uint64_t kSamples = std::uint64_t{1} << kExactPairs;
  constexpr std::size_t kMostPairs = 64;  // one bit of a sample per pair
  const std::span<const double> pairs = differences.first(std::min(differences.size(), kMostPairs));
  const bool exact = pairs.size() <= kExactPairs;
  const std::uint64_t patterns = exact ? std::uint64_t{1} << pairs.size() : kSamples;

  double scale = 0;
  for (const double difference : pairs) scale += std::abs(difference);
  const double rounding = 1e-12 * scale;  // treat sums that differ only by rounding as equal
  const double observed = std::abs(SumWithSigns(pairs, 0)) - rounding;
  std::mt19937_64 random(1);
  std::uint64_t as_far = 0;
  for (std::uint64_t i = 0; i < patterns; ++i) {
    if (std::abs(SumWithSigns(pairs, exact ? i : random())) >= observed) ++as_far;
  }
  return static_cast<double>(as_far) / static_cast<double>(patterns);
}

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
    rates.at_equal_time.push_back(SolveRateAt(runs[seed], FirstDone(variants, seed)));
  }
  return rates;
}

void CompareWithFirst(std::span<const VariantRuns> variants, const VariantRuns& of, Row& row) {
  const std::vector<RunRecord>& first = variants.front().runs;
  std::vector<double> speed_up;
  std::vector<double> log_speed_up;
  row.weights_equal_first = true;
  for (std::size_t seed = 0; seed < of.runs.size(); ++seed) {
    speed_up.push_back(first[seed].seconds / of.runs[seed].seconds);
    log_speed_up.push_back(std::log(speed_up.back()));
    if (of.runs[seed].weights_sha256 != first[seed].weights_sha256) row.weights_equal_first = false;
  }
  row.speed_up = SpreadOf(speed_up);
  const SolveRates rates = SolveRatesOf(variants, of.runs);
  row.solve_rate = SpreadOfAll(rates.at_end);
  row.solve_rate_equal_time = SpreadOfAll(rates.at_equal_time);
  if (&of == &variants.front()) return;
  const SolveRates first_rates = SolveRatesOf(variants, first);
  row.speed_up_chance = ChanceOf(log_speed_up);
  row.solve_rate_chance = ChanceBetween(rates.at_end, first_rates.at_end);
  row.solve_rate_equal_time_chance = ChanceBetween(rates.at_equal_time, first_rates.at_equal_time);
}

Row RowOf(std::span<const VariantRuns> variants, const VariantRuns& of) {
  const auto& runs = of.runs;
  Row row;
  row.variant = of.variant;
  row.updates_per_s =
      Over(runs, [](const auto& r) { return static_cast<double>(r.updates) / r.seconds; });
  row.examples_per_s =
      Over(runs, [](const auto& r) { return static_cast<double>(r.examples) / r.seconds; });
  row.generate_critical_s = Over(runs, [](const auto& r) { return r.generate_critical_s; });
  row.train_critical_s = Over(runs, [](const auto& r) { return r.train_critical_s; });
  row.idle_workers = Over(runs, [](const auto& r) { return r.idle_workers; });
  row.idle_main = Over(runs, [](const auto& r) { return r.idle_main; });
  if (std::ranges::all_of(runs, [](const auto& r) { return r.gpu_s.has_value(); })) {
    row.idle_gpu = Over(runs, [](const auto& r) { return 1 - *r.gpu_s / r.seconds; });
  }
  if (std::ranges::all_of(runs, [](const auto& r) { return r.product_share.has_value(); })) {
    row.product_share = Over(runs, [](const auto& r) { return *r.product_share; });
  }
  row.lag_updates = Over(runs, [](const auto& r) { return r.lag_updates; });
  row.final_loss = Over(runs, [](const auto& r) { return r.final_loss; });
  CompareWithFirst(variants, of, row);
  FillIdeal(of, SequentialBeside(variants, of.variant), row);
  FillBusy(runs, row);
  return row;
}

// Returns the longest of the demands that `run` measured, and its name.
Ideal Longest(const RunRecord& run) {
  Ideal longest{.seconds = run.generate_critical_s, .bound_by = "generator"};
  const auto consider = [&](double seconds, const char* what) {
    if (seconds > longest.seconds) longest = {.seconds = seconds, .bound_by = what};
  };
  consider(run.train_critical_s, "training");
  consider(run.core_s / run.cores, "cores");
  consider(run.gpu_s.value_or(0), "GPU");
  return longest;
}

}  // namespace

Ideal IdealOf(const RunRecord& sequential) { return Longest(sequential); }

Busy BusyOf(const RunRecord& run) {
  const Ideal longest = Longest(run);
  return {.share = std::min(longest.seconds / run.seconds, 1.0), .side = longest.bound_by};
}

std::vector<Row> Compare(std::span<const VariantRuns> variants) {
  std::vector<Row> rows;
  rows.reserve(variants.size());
  for (const VariantRuns& each : variants) rows.push_back(RowOf(variants, each));
  return rows;
}

}  // namespace tandem
