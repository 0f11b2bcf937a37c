#include "report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void CheckFolderNames(std::span<const Variant> variants) {
  std::map<std::string, std::string> name_of;
  for (const Variant& variant : variants) {
    const auto [other, is_new] = name_of.emplace(variant.FolderName(), variant.name);
    if (is_new) continue;
    throw InputError(fmt::format("--vary: the runs `{}` and `{}` would use the same folder, {}",
                                 other->second, variant.name, other->first));
  }
}

// Parses "1,2". Throws InputError if a number is not in `least`..`most`, or comes twice: 01 is 1.
template <class Number>
std::vector<Number> ParseNumbers(std::string_view text, std::string_view option, Number least,
                                 Number most) {
  std::vector<Number> numbers;
  for (const std::string& part : SplitList(text, option)) {
    const auto number = ParseNumber<Number>(part);
    if (!number || *number < least || *number > most) {
      throw InputError(
          fmt::format("{} {}: expected whole numbers from {} to {}", option, text, least, most));
    }
    if (std::ranges::find(numbers, *number) != numbers.end()) {
      throw InputError(fmt::format("{} {}: {} is listed twice", option, text, *number));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Variation ParseVariation(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(fmt::format("--vary {}: expected KEY=VALUE1,VALUE2", text));
  }
  const std::string_view varied = text.substr(0, equals);
  for (const auto& [key, option] : {std::pair{"seed", "--seeds"}, {"pipeline.mode", "--modes"}}) {
    if (varied == key) throw InputError(fmt::format("--vary {}: use {} instead", text, option));
  }
  if (varied == "train.max_updates" || varied == "train.max_seconds") {
    throw InputError(
        fmt::format("--vary {}: all runs do the same updates, so that they can be compared", text));
  }
  Variation variation{
      .key = std::string(varied),
      .values = SplitList(text.substr(equals + 1), fmt::format("--vary {}:", varied))};
  if (variation.values.size() < 2) {
    throw InputError(
        fmt::format("--vary {}: expected two values or more, such as prefetch.depth=1,2. To give "
                    "every run the same value, use --set.",
                    text));
  }
  return variation;
}

std::vector<Override> Variant::Overrides() const {
  std::vector<Override> overrides = {{"pipeline.mode", mode, "--modes " + mode}};
  if (aligned_lag) overrides.push_back({"pipeline.policy_lag", "1", "tandem compare"});
  for (const auto& [key, value] : varied) {
    overrides.push_back({key, value, fmt::format("--vary {}={}", key, value)});
  }
  return overrides;
}

std::string Variant::FolderName() const {
  std::string safe = name;
  for (char& c : safe) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '=') c = '-';
  }
  return safe;
}

std::vector<int> ParseRanks(std::string_view text) {
  constexpr int kMost = 1024;
  return ParseNumbers<int>(text, "--ranks", 1, kMost);
}

std::vector<std::string> ParseSeeds(std::string_view text) {
  std::vector<std::string> seeds;
  for (const std::int64_t seed : ParseNumbers<std::int64_t>(text, "--seeds", 0, INT64_MAX)) {
    seeds.push_back(std::to_string(seed));
  }
  return seeds;
}

std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations,
                                  std::span<const int> ranks) {
  std::vector<Variant> variants = {{}};
  for (const Variation& variation : variations) {
    std::vector<Variant> longer;
    for (const Variant& variant : variants) {
      for (const std::string& value : variation.values) {
        Variant& added = longer.emplace_back(variant);
        added.name += fmt::format(" {}={}", variation.key, value);
        added.varied.emplace_back(variation.key, value);
      }
    }
    variants = std::move(longer);
  }
  std::vector<Variant> all;
  for (const Variant& variant : variants) {
    for (const int number : ranks) {
      for (const std::string& mode : modes) {
        Variant& added = all.emplace_back(variant);
        added.mode = mode;
        added.ranks = number;
        added.name = mode + variant.name;
        if (ranks.size() > 1) added.name += fmt::format(" ranks={}", number);
      }
    }
  }
  CheckFolderNames(all);
  return all;
}

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

std::optional<Spread> SpreadOf(std::span<const std::optional<double>> values) {
  std::vector<double> known;
  for (const std::optional<double>& value : values) {
    if (!value) return std::nullopt;
    known.push_back(*value);
  }
  return SpreadOf(known);
}

double ChanceOf(std::span<const double> differences) {
  constexpr std::uint64_t kSamples = std::uint64_t{1} << kExactPairs;
  constexpr std::size_t kMaxPairs = 64;  // one bit of a sample per pair
  const std::span<const double> pairs = differences.first(std::min(differences.size(), kMaxPairs));
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
