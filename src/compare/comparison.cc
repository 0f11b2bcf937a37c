#include "compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

// Returns the sum of the differences, with the sign of difference i flipped if bit i of `flipped`
// is set.
double SumWithSigns(std::span<const double> differences, std::uint64_t flipped) {
  double sum = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    sum += (flipped >> (i % 64) & 1) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

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
  row.weights_equal_first = true;
  for (std::size_t seed = 0; seed < variant.runs.size(); ++seed) {
    speed_up.push_back(first[seed].seconds / variant.runs[seed].seconds);
    log_speed_up.push_back(std::log(speed_up.back()));
    if (variant.runs[seed].weights_sha256 != first[seed].weights_sha256) {
      row.weights_equal_first = false;
    }
  }
  row.speed_up = SpreadOf(speed_up);
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
  row.product_share = SpreadOver(runs, &RunRecord::product_share);
  row.lag_updates = SpreadOver(runs, &RunRecord::lag_updates);
  row.final_loss = SpreadOver(runs, &RunRecord::final_loss);
  CompareWithFirst(variants, variant, row);
  FillIdeal(variant, SequentialCounterpart(variants, variant.variant), row);
  FillBusy(runs, row);
  return row;
}

// One measure of a row: an entry of the JSON and, if it has a name, a line of the table.
struct Entry {
  std::string name;  // "": not in the table
  std::string key;   // in the JSON
  std::function<std::string(const Row&)> cell;
  std::function<Json(const Row&)> json;
};

std::string Cell(const Spread& spread, double scale, int digits) {
  const auto text = [&](double value) { return fmt::format("{:.{}f}", scale * value, digits); };
  if (spread.least == spread.most) return text(spread.median);
  return fmt::format("{} ({} to {})", text(spread.median), text(spread.least), text(spread.most));
}

std::string Cell(const std::optional<Spread>& spread, double scale, int digits) {
  return spread ? Cell(*spread, scale, digits) : "-";
}

Json ToJson(const Spread& spread) {
  return {{"median", spread.median}, {"least", spread.least}, {"most", spread.most}};
}
Json ToJson(double number) { return number; }
template <class Value>
Json ToJson(const std::optional<Value>& value) {
  return value ? ToJson(*value) : Json();
}

// Returns every measure, in the order of the table and of the JSON.
std::vector<Entry> Entries() {
  const auto spread = [](const char* name, const char* key, auto of, double scale, int digits) {
    return Entry{name, key, [=](const Row& row) { return Cell(row.*of, scale, digits); },
                 [=](const Row& row) { return ToJson(row.*of); }};
  };
  const auto chance = [](const char* key, auto of) {
    return Entry{"", key, {}, [=](const Row& row) { return ToJson(row.*of); }};
  };
  return {
      spread("updates/s", "updates_per_s", &Row::updates_per_s, 1, 3),
      spread("examples/s", "examples_per_s", &Row::examples_per_s, 1, 0),
      spread("s generating (critical path)", "generate_critical_s", &Row::generate_critical_s, 1,
             2),
      spread("s training (critical path)", "train_critical_s", &Row::train_critical_s, 1, 2),
      spread("% workers idle", "idle_workers", &Row::idle_workers, 100, 1),
      spread("% main thread idle", "idle_main", &Row::idle_main, 100, 1),
      spread("% GPU idle", "idle_gpu", &Row::idle_gpu, 100, 1),
      spread("lag, updates", "lag_updates", &Row::lag_updates, 1, 2),
      spread("final loss", "final_loss", &Row::final_loss, 1, 4),
      spread("% solved, equal iterations", "solve_rate_equal_iterations", &Row::solve_rate, 100, 1),
      spread("% solved, equal seconds", "solve_rate_equal_seconds", &Row::solve_rate_equal_time,
             100, 1),
      spread("speed-up", "speed_up", &Row::speed_up, 1, 3),
      chance("speed_up_chance", &Row::speed_up_chance),
      chance("solve_rate_equal_iterations_chance", &Row::solve_rate_chance),
      chance("solve_rate_equal_seconds_chance", &Row::solve_rate_equal_time_chance),
      spread("ideal speed-up", "ideal_speed_up", &Row::ideal_speed_up, 1, 3),
      {"ideal bound by", "ideal_bound_by",
       [](const Row& row) { return row.ideal_speed_up ? row.ideal_bound_by : "-"; },
       [](const Row& row) { return row.ideal_bound_by; }},
      spread("% busiest side at work", "busy_share", &Row::busy, 100, 1),
      {"busiest side", "busiest_side", [](const Row& row) { return row.busiest; },
       [](const Row& row) { return row.busiest; }},
      spread("% of product rate", "product_share", &Row::product_share, 100, 1),
      {"weights as the first's", "weights_equal_first",
       [](const Row& row) { return row.weights_equal_first ? "equal" : "differ"; },
       [](const Row& row) { return row.weights_equal_first; }},
  };
}

constexpr double kUnlikely = 0.1;

// Returns "such a difference arises by chance in 25.0 % of cases".
std::string DescribeChance(double chance) {
  return fmt::format("such a difference arises by chance in {:.1f} % of cases", 100 * chance);
}

std::string DescribeSpeed(const Row& row, std::size_t seeds) {
  std::string sentence = fmt::format("{:.3f}x as fast", row.speed_up.median);
  if (seeds == 1) return sentence;
  const std::string range =
      fmt::format("{:.3f} to {:.3f} over {} seeds; {}", row.speed_up.least, row.speed_up.most,
                  seeds, DescribeChance(row.speed_up_chance.value_or(1)));
  if (seeds >= kMinSeeds && row.speed_up_chance > kUnlikely) {
    return fmt::format("no difference in speed shown ({})", range);
  }
  return fmt::format("{} ({})", sentence, range);
}

std::string DescribeSolveRate(const std::optional<Spread>& rate, const std::optional<Spread>& first,
                              std::optional<double> chance, const char* after, std::size_t seeds) {
  if (!rate || !first) return "";
  if (seeds > 1 && chance == 1.0) {
    return fmt::format("; after equal {} no difference in solve rate", after);
  }
  std::string sentence = fmt::format("; after equal {} it solves {:.1f} % instead of {:.1f} %",
                                     after, 100 * rate->median, 100 * first->median);
  if (seeds == 1 || !chance) return sentence;
  if (seeds >= kMinSeeds && *chance > kUnlikely) {
    sentence = fmt::format("; after equal {} no difference in solve rate shown", after);
  }
  return fmt::format("{} ({})", sentence, DescribeChance(*chance));
}

std::string NoVerdict(std::size_t seeds) {
  if (seeds >= kMinSeeds) return "";
  return fmt::format("; no verdict, because it takes at least {} seeds (--seeds)", kMinSeeds);
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

std::vector<Row> Compare(std::span<const VariantRuns> variants) {
  std::vector<Row> rows;
  rows.reserve(variants.size());
  for (const VariantRuns& each : variants) rows.push_back(RowOf(variants, each));
  return rows;
}

std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds) {
  std::vector<std::string> sentences;
  const Row& first = rows.front();
  for (const Row& row : rows.subspan(1)) {
    sentences.push_back(fmt::format(
        "{} against {}: {}{}{}{}", row.variant.name, first.variant.name, DescribeSpeed(row, seeds),
        DescribeSolveRate(row.solve_rate, first.solve_rate, row.solve_rate_chance, "iterations",
                          seeds),
        DescribeSolveRate(row.solve_rate_equal_time, first.solve_rate_equal_time,
                          row.solve_rate_equal_time_chance, "seconds", seeds),
        NoVerdict(seeds)));
  }
  return sentences;
}

std::string TableText(std::span<const Row> rows) {
  std::vector<Entry> lines = Entries();
  std::erase_if(lines, [](const Entry& entry) { return entry.name.empty(); });
  std::size_t names = 0;
  for (const Entry& line : lines) names = std::max(names, line.name.size());
  std::vector<std::string> text = {std::string(names, ' ')};
  for (const Entry& line : lines) text.push_back(fmt::format("{:<{}}", line.name, names));
  for (const Row& row : rows) {
    std::vector<std::string> column = {row.variant.name};
    for (const Entry& line : lines) column.push_back(line.cell(row));
    const std::size_t width = std::ranges::max_element(column, {}, &std::string::size)->size();
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] += fmt::format("  {:>{}}", column[i], width);
    }
  }
  return fmt::format("{}\n", fmt::join(text, "\n"));
}

nlohmann::ordered_json ToJson(std::span<const Row> rows) {
  Json all = Json::array();
  for (const Row& row : rows) {
    Json varied = Json::object();
    for (const auto& [key, value] : row.variant.varied) varied[key] = value;
    Json json = {{"name", row.variant.name},
                 {"mode", row.variant.mode},
                 {"ranks", row.variant.ranks},
                 {"varied", varied}};
    for (const Entry& entry : Entries()) json[entry.key] = entry.json(row);
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace tandem
