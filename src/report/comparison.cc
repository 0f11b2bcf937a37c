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

// Returns the sum of the differences, with the sign of difference i flipped if bit i of `flipped`
// is set.
double SumWithSigns(std::span<const double> differences, std::uint64_t flipped) {
  double sum = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    sum += (flipped >> (i % 64) & 1) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

using Json = nlohmann::ordered_json;
using Values = std::vector<std::optional<double>>;  // one for each seed

constexpr const char* kMissing = "-";
constexpr const char* kLoss = "final loss";

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

double EarliestEnd(std::span<const VariantRuns> variants, std::size_t seed) {
  double seconds = variants.front().runs[seed].curve.back().seconds;
  for (const VariantRuns& each : variants) {
    seconds = std::min(seconds, each.runs[seed].curve.back().seconds);
  }
  return seconds;
}

Values SolveRatesAtEqualTime(std::span<const VariantRuns> variants, const VariantRuns& of) {
  Values rates;
  for (std::size_t seed = 0; seed < of.runs.size(); ++seed) {
    rates.push_back(SolveRateAt(of.runs[seed], EarliestEnd(variants, seed)));
  }
  return rates;
}

// Returns nothing if a value is missing on either side.
std::optional<double> ChanceBetween(const Values& values, const Values& first) {
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

// Returns the sequential runs that an async variant overlaps; null if there are none.
const VariantRuns* SequentialCounterpart(std::span<const VariantRuns> variants,
                                         const Variant& variant) {
  if (variant.mode != "async") return nullptr;
  for (const VariantRuns& each : variants) {
    if (each.variant.mode == "sequential" && each.variant.varied == variant.varied) return &each;
  }
  return nullptr;
}

std::string CellOf(const Spread& spread, double scale, int digits) {
  const auto text = [&](double value) { return fmt::format("{:.{}f}", scale * value, digits); };
  if (spread.least == spread.most) return text(spread.median);
  return fmt::format("{} ({} to {})", text(spread.median), text(spread.least), text(spread.most));
}

// RowMaker measures the runs of one variant.
class RowMaker {
 public:
  RowMaker(std::span<const VariantRuns> variants, const VariantRuns& variant)
      : variants_(variants), variant_(variant), row_{.variant = variant.variant, .entries = {}} {}

  // Returns the row. Its entries are in the order of the table and of the JSON.
  Row Make() {
    const auto per_second = [&](auto count) {
      return Each(
          [count](const RunRecord& r) { return static_cast<double>(r.*count) / r.seconds; });
    };
    Add("updates/s", "updates_per_s", 1, 3, per_second(&RunRecord::updates));
    Add("examples/s", "examples_per_s", 1, 0, per_second(&RunRecord::examples));
    Add("s generating (critical path)", "generate_critical_s", 1, 2,
        Each(&RunRecord::generate_critical_s));
    Add("s training (critical path)", "train_critical_s", 1, 2, Each(&RunRecord::train_critical_s));
    Add("% workers idle", "idle_workers", 100, 1, Each(&RunRecord::idle_workers));
    Add("% main thread idle", "idle_main", 100, 1, Each(&RunRecord::idle_main));
    Add("% GPU idle", "idle_gpu", 100, 1, Each([](const RunRecord& run) {
          return run.gpu_s ? std::optional(1 - *run.gpu_s / run.seconds) : std::nullopt;
        }),
        "only traced updates on a GPU show it (--set profile.trace_updates=5 "
        "--set profile.trace_from=1)");
    Add("lag, updates", "lag_updates", 1, 2, Each(&RunRecord::lag_updates));
    Add(kLoss, "final_loss", 1, 4, Each(&RunRecord::final_loss));
    AddComparisonsWithFirst();
    AddBounds();
    const bool equal = EqualWeights(variant_, variants_.front());
    row_.entries.push_back(
        {"weights as the first's", "weights_equal_first", equal ? "equal" : "differ", equal});
    return std::move(row_);
  }

 private:
  // Returns `measure`, a member of RunRecord or a function of one, of each run.
  template <class Of>
  Values Each(const Of& measure) const {
    Values values;
    for (const RunRecord& run : variant_.runs) values.emplace_back(std::invoke(measure, run));
    return values;
  }

  std::optional<Spread> Add(const char* name, const char* key, double scale, int digits,
                            const Values& values, const char* why_missing = "") {
    const std::optional<Spread> spread = SpreadOf(values);
    RowEntry& added = row_.entries.emplace_back(RowEntry{name, key, kMissing, {}, why_missing});
    if (!spread) return spread;
    added.cell = CellOf(*spread, scale, digits);
    added.json = {{"median", spread->median}, {"least", spread->least}, {"most", spread->most}};
    return spread;
  }

  void AddChance(const char* key, std::optional<double> chance) {
    row_.entries.push_back({"", key, "", chance ? Json(*chance) : Json()});
  }

  void AddComparisonsWithFirst() {
    const VariantRuns& first = variants_.front();
    const auto at_end = [](const RunRecord& run) {
      return SolveRateAt(run, run.curve.back().seconds);
    };
    const Values solved = Each(at_end);
    const Values solved_at_equal_time = SolveRatesAtEqualTime(variants_, variant_);
    Values speed_up;
    std::vector<double> log_speed_up;
    Values solved_by_first;
    for (std::size_t seed = 0; seed < first.runs.size(); ++seed) {
      speed_up.emplace_back(first.runs[seed].seconds / variant_.runs[seed].seconds);
      log_speed_up.push_back(std::log(*speed_up.back()));
      solved_by_first.push_back(at_end(first.runs[seed]));
    }
    row_.solve_rate.spread = Add("% solved, equal iterations", "solve_rate_equal_iterations", 100,
                                 1, solved, "a run was not validated (validation.every_updates)");
    row_.solve_rate_equal_time.spread =
        Add("% solved, equal seconds", "solve_rate_equal_seconds", 100, 1, solved_at_equal_time,
            "a run had no validation before the first run of its seed ended; lower "
            "validation.every_updates");
    row_.speed_up.spread = Add("speed-up", "speed_up", 1, 3, speed_up);
    if (&variant_ != &first) {
      row_.speed_up.chance = ChanceOf(log_speed_up);
      row_.solve_rate.chance = ChanceBetween(solved, solved_by_first);
      row_.solve_rate_equal_time.chance =
          ChanceBetween(solved_at_equal_time, SolveRatesAtEqualTime(variants_, first));
    }
    AddChance("speed_up_chance", row_.speed_up.chance);
    AddChance("solve_rate_equal_iterations_chance", row_.solve_rate.chance);
    AddChance("solve_rate_equal_seconds_chance", row_.solve_rate_equal_time.chance);
  }

  // Adds the ideal speed-up over sequential and the busiest side, with what bounds each.
  void AddBounds() {
    const char* const only_async =
        "only async rows beside a sequential row of the same settings have one";
    const VariantRuns* const sequential = SequentialCounterpart(variants_, variant_.variant);
    Values ideal_speed_up(sequential == nullptr ? variant_.runs.size() : 0);
    std::vector<std::string> bounds;
    if (sequential != nullptr) {
      for (const RunRecord& run : sequential->runs) {
        ideal_speed_up.emplace_back(run.seconds / IdealOf(run).seconds);
        bounds.push_back(IdealOf(run).side);
      }
    }
    std::vector<std::string> sides;
    for (const RunRecord& run : variant_.runs) sides.push_back(IdealOf(run).side);
    Add("ideal speed-up", "ideal_speed_up", 1, 3, ideal_speed_up, only_async);
    row_.entries.push_back({"ideal bound by", "ideal_bound_by",
                            bounds.empty() ? kMissing : Distinct(bounds),
                            bounds.empty() ? Json() : Json(Distinct(bounds)), only_async});
    Add("% busiest side at work", "busy_share", 100, 1, Each([](const RunRecord& run) {
          return std::min(IdealOf(run).seconds / run.seconds, 1.0);
        }));
    row_.entries.push_back({"busiest side", "busiest_side", Distinct(sides), Distinct(sides)});
  }

  const std::span<const VariantRuns> variants_;
  const VariantRuns& variant_;
  Row row_;
};

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

std::vector<std::string> ParseSeeds(std::string_view text) {
  std::vector<std::string> seeds;
  for (const std::string& part : SplitList(text, "--seeds")) {
    const auto number = ParseNumber<std::int64_t>(part);
    if (!number || *number < 0) {
      throw InputError(
          fmt::format("--seeds {}: expected whole numbers from 0 to {}", text, INT64_MAX));
    }
    std::string seed = std::to_string(*number);
    if (std::ranges::find(seeds, seed) != seeds.end()) {
      throw InputError(fmt::format("--seeds {}: {} is listed twice", text, seed));
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations) {
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
    for (const std::string& mode : modes) {
      Variant& added = all.emplace_back(variant);
      added.mode = mode;
      added.name = mode + variant.name;
    }
  }
  CheckFolderNames(all);
  return all;
}

std::optional<Spread> SpreadOf(std::span<const std::optional<double>> values) {
  std::vector<double> sorted;
  for (const std::optional<double>& value : values) {
    if (!value) return std::nullopt;
    sorted.push_back(*value);
  }
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  const double median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return Spread{.median = median, .least = sorted.front(), .most = sorted.back()};
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
  Ideal ideal{.seconds = run.generate_critical_s, .side = "generator"};
  const auto consider = [&](double seconds, const char* what) {
    if (seconds > ideal.seconds) ideal = {.seconds = seconds, .side = what};
  };
  consider(run.train_critical_s, "training");
  consider(run.core_s / run.cores, "cores");
  consider(run.gpu_s.value_or(0), "GPU");
  return ideal;
}

bool EqualWeights(const VariantRuns& runs, const VariantRuns& others) {
  return std::ranges::equal(runs.runs, others.runs, [](const RunRecord& a, const RunRecord& b) {
    return !a.weights_sha256.empty() && a.weights_sha256 == b.weights_sha256;
  });
}

std::vector<Row> Compare(std::span<const VariantRuns> variants) {
  std::vector<Row> rows;
  rows.reserve(variants.size());
  for (const VariantRuns& each : variants) rows.push_back(RowMaker(variants, each).Make());
  return rows;
}

std::vector<std::string> Notes(std::span<const Row> rows, bool losses_compare) {
  std::vector<std::pair<std::string, std::string>> missing;  // reason, names of measures
  for (std::size_t i = 0; i < rows.front().entries.size(); ++i) {
    const auto is_missing = [i](const Row& row) { return row.entries[i].cell == kMissing; };
    if (std::ranges::none_of(rows, is_missing)) continue;
    const RowEntry& entry = rows.front().entries[i];
    if (missing.empty() || missing.back().first != entry.why_missing) {
      missing.emplace_back(entry.why_missing, entry.name);
    } else {
      missing.back().second += "`, `" + entry.name;
    }
  }
  std::vector<std::string> notes;
  notes.reserve(missing.size() + 1);
  for (const auto& [why, names] : missing) {
    notes.push_back(fmt::format("`-` in `{}`: {}", names, why));
  }
  if (!losses_compare) {
    notes.push_back(fmt::format(
        "`{}` cannot be compared: the targets or losses differ, or targets grow with the network",
        kLoss));
  }
  return notes;
}

std::string TableText(std::span<const Row> rows) {
  std::vector<std::vector<std::string>> columns = {{""}};  // above the names of the measures
  for (const RowEntry& entry : rows.front().entries) {
    if (!entry.name.empty()) columns.front().push_back(entry.name);
  }
  for (const Row& row : rows) {
    std::vector<std::string>& column = columns.emplace_back();
    column.push_back(row.variant.name);
    for (const RowEntry& entry : row.entries) {
      if (!entry.name.empty()) column.push_back(entry.cell);
    }
  }
  return TextTable(columns);
}

nlohmann::ordered_json ToJson(std::span<const Row> rows) {
  Json all = Json::array();
  for (const Row& row : rows) {
    Json varied = Json::object();
    for (const auto& [key, value] : row.variant.varied) varied[key] = value;
    Json json = {{"name", row.variant.name}, {"mode", row.variant.mode}, {"varied", varied}};
    for (const RowEntry& entry : row.entries) json[entry.key] = entry.json;
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace tandem
