#include "report/comparison_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "base/text.h"
#include "report/chart.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

// One measure of a row: an entry of the JSON and, if it has a name, a line of the table.
struct Entry {
  std::string name;  // "": not in the table
  std::string key;   // in the JSON
  std::function<std::string(const Row&)> cell;
  std::function<Json(const Row&)> json;
  std::string why_missing = {};  // why a cell may be `-`
};

constexpr const char* kMissing = "-";
constexpr const char* kLoss = "final loss";

std::string Cell(const Spread& spread, double scale, int digits) {
  const auto text = [&](double value) { return fmt::format("{:.{}f}", scale * value, digits); };
  if (spread.least == spread.most) return text(spread.median);
  return fmt::format("{} ({} to {})", text(spread.median), text(spread.least), text(spread.most));
}

std::string Cell(const std::optional<Spread>& spread, double scale, int digits) {
  return spread ? Cell(*spread, scale, digits) : kMissing;
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
  const auto spread = [](const char* name, const char* key, auto of, double scale, int digits,
                         const char* why_missing = "") {
    return Entry{name, key, [=](const Row& row) { return Cell(row.*of, scale, digits); },
                 [=](const Row& row) { return ToJson(row.*of); }, why_missing};
  };
  const char* const only_async =
      "only async rows beside a sequential row of the same settings have one";
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
      spread("% GPU idle", "idle_gpu", &Row::idle_gpu, 100, 1,
             "only traced updates on a GPU show it (--set profile.trace_updates=5 "
             "--set profile.trace_from=1)"),
      spread("lag, updates", "lag_updates", &Row::lag_updates, 1, 2),
      spread(kLoss, "final_loss", &Row::final_loss, 1, 4),
      spread("% solved, equal iterations", "solve_rate_equal_iterations", &Row::solve_rate, 100, 1,
             "a run was not validated (validation.every_updates)"),
      spread("% solved, equal seconds", "solve_rate_equal_seconds", &Row::solve_rate_equal_time,
             100, 1,
             "a run had no validation before the first run of its seed ended; lower "
             "validation.every_updates"),
      spread("speed-up", "speed_up", &Row::speed_up, 1, 3),
      chance("speed_up_chance", &Row::speed_up_chance),
      chance("solve_rate_equal_iterations_chance", &Row::solve_rate_chance),
      chance("solve_rate_equal_seconds_chance", &Row::solve_rate_equal_time_chance),
      spread("ideal speed-up", "ideal_speed_up", &Row::ideal_speed_up, 1, 3, only_async),
      {"ideal bound by", "ideal_bound_by",
       [](const Row& row) { return row.ideal_speed_up ? row.ideal_bound_by : kMissing; },
       [](const Row& row) { return row.ideal_bound_by; }, only_async},
      spread("% busiest side at work", "busy_share", &Row::busy, 100, 1),
      {"busiest side", "busiest_side", [](const Row& row) { return row.busiest; },
       [](const Row& row) { return row.busiest; }},
      {"weights as the first's", "weights_equal_first",
       [](const Row& row) { return row.weights_equal_first ? "equal" : "differ"; },
       [](const Row& row) { return row.weights_equal_first; }},
  };
}

constexpr double kUnlikely = 0.1;

// Returns the probability with which chance alone makes the differences of all seeds agree.
double LeastChance(std::size_t seeds) { return std::ldexp(2, -static_cast<int>(seeds)); }

// Returns "such a difference arises by chance in 25.0 % of cases".
std::string DescribeChance(double chance, std::size_t seeds) {
  const bool is_least = seeds < kEnoughSeeds && chance <= LeastChance(seeds);
  return fmt::format("such a difference arises by chance in {:.1f} % of cases{}", 100 * chance,
                     is_least ? fmt::format(", the least possible with {} seeds", seeds) : "");
}

std::string DescribeSpeed(const Row& row, std::size_t seeds) {
  std::string sentence = fmt::format("{:.3f}x as fast", row.speed_up.median);
  if (seeds == 1) return sentence;
  const std::string range =
      fmt::format("{:.3f} to {:.3f} over {} seeds; {}", row.speed_up.least, row.speed_up.most,
                  seeds, DescribeChance(row.speed_up_chance.value_or(1), seeds));
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
  return fmt::format("{} ({})", sentence, DescribeChance(*chance, seeds));
}

// Says how many seeds it takes to be surer.
std::string MoreSeeds(std::size_t seeds) {
  if (seeds >= kEnoughSeeds) return "";
  const std::string enough =
      fmt::format("{} seeds can show {:.1f} %", kEnoughSeeds, 100 * LeastChance(kEnoughSeeds));
  if (seeds == kMinSeeds) return "; " + enough;
  return fmt::format("; no verdict, because it takes at least {} seeds (--seeds); {}", kMinSeeds,
                     enough);
}

// Says which row has the highest median of `value`, as "async is fastest", or that no difference
// was shown. `what` names the measure. Returns "" if a row does not have it.
template <class Value>
std::string DescribeBest(std::span<const Row> rows, std::size_t seeds, const Value& value,
                         std::optional<double> Row::*chance, const char* wins, const char* what,
                         const std::function<std::string(const Row&)>& why) {
  const Row* best = &rows.front();
  bool differ = false;
  for (const Row& row : rows) {
    const std::optional<Spread> spread = value(row);
    if (!spread) return "";
    const double most = value(*best)->median;
    differ = differ || spread->median != most;
    if (spread->median > most) best = &row;
  }
  const auto is_unlikely = [&](const Row& row) { return (row.*chance).value_or(1) <= kUnlikely; };
  const bool is_shown = best == &rows.front() ? std::ranges::any_of(rows.subspan(1), is_unlikely)
                                              : is_unlikely(*best);
  if (!differ || (seeds >= kMinSeeds && !is_shown)) {
    return fmt::format("no difference in {} is shown", what);
  }
  return fmt::format("{} {}{}", best->variant.name, wins, why(*best));
}

// Says which row is best in what. Modes are best for known reasons, unless all rows have one mode.
std::string SumUp(std::span<const Row> rows, std::size_t seeds) {
  const auto is = [](const char* mode) {
    return [mode](const Row& row) { return row.variant.mode == mode; };
  };
  const bool modes_differ = std::ranges::any_of(
      rows, [&](const Row& row) { return row.variant.mode != rows.front().variant.mode; });
  const auto why_fast = [&](const Row& best) {
    std::string why;
    if (!modes_differ) return why;
    if (best.variant.mode == "async") why = ", because it generates while it trains";
    if (best.variant.mode != "sync_main" && std::ranges::any_of(rows, is("sync_main"))) {
      why += "; sync_main is slower, because its main thread also evaluates for the searches";
    }
    return why;
  };
  const auto why_learned = [&](const Row& best) -> std::string {
    return modes_differ && best.variant.mode == "sync_main"
               ? ", because its searches ask the newest network"
               : "";
  };
  std::vector<std::string> parts = {
      DescribeBest(
          rows, seeds, [](const Row& row) { return std::optional(row.speed_up); },
          &Row::speed_up_chance, "is fastest", "speed", why_fast),
      DescribeBest(
          rows, seeds, [](const Row& row) { return row.solve_rate; }, &Row::solve_rate_chance,
          "solves most after equal iterations", "solve rates after equal iterations", why_learned),
      DescribeBest(
          rows, seeds, [](const Row& row) { return row.solve_rate_equal_time; },
          &Row::solve_rate_equal_time_chance, "solves most after equal seconds",
          "solve rates after equal seconds", [](const Row& /*best*/) { return ""; })};
  std::erase(parts, "");
  return fmt::format("in short: {}{}", fmt::join(parts, "; "),
                     seeds < kMinSeeds ? "; all of this may be chance" : "");
}

}  // namespace

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
        MoreSeeds(seeds)));
  }
  if (rows.size() > 1) sentences.push_back(SumUp(rows, seeds));
  return sentences;
}

std::vector<std::string> Notes(std::span<const Row> rows, bool losses_compare) {
  std::vector<std::pair<std::string, std::string>> missing;  // reason, names of measures
  for (const Entry& entry : Entries()) {
    const auto is_missing = [&](const Row& row) { return entry.cell(row) == kMissing; };
    if (entry.name.empty() || std::ranges::none_of(rows, is_missing)) continue;
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
  std::vector<Entry> lines = Entries();
  std::erase_if(lines, [](const Entry& entry) { return entry.name.empty(); });
  std::vector<std::vector<std::string>> columns(1);
  columns.front().emplace_back();  // above the names of the measures
  for (const Entry& line : lines) columns.front().push_back(line.name);
  for (const Row& row : rows) {
    std::vector<std::string>& column = columns.emplace_back();
    column.push_back(row.variant.name);
    for (const Entry& line : lines) column.push_back(line.cell(row));
  }
  return TextTable(columns);
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

namespace {

// Dash patterns. If one curve covers another, the other shows through the gaps.
constexpr std::array kDashes = {"", "10 8", "4 8", "14 5 3 5"};
constexpr const char* kFill = "#e69f00";
constexpr const char* kTrain = "#0072b2";

constexpr double kWidth = 1000;
constexpr double kPanelTop = 60;
constexpr double kPanelHeight = 300;
constexpr double kLeft = 60;
constexpr double kPanelWidth = 410;
constexpr double kLegendTop = kPanelTop + kPanelHeight + 64;
constexpr double kBarHeight = 14;
constexpr double kRowHeight = 50;
constexpr int kUpdatesShown = 8;

const char* ColourOf(std::size_t variant) { return kColours[variant % kColours.size()]; }
const char* DashesOf(std::size_t variant) { return kDashes[variant % kDashes.size()]; }

using Coordinate = std::function<double(const UpdatePoint&)>;

// The quantity that the panels show. `y` returns nothing for points without a value.
struct Quantity {
  std::string name;
  std::function<std::optional<double>(const UpdatePoint&)> y;
  bool from_zero = false;
};

// Returns the solve rate, or the loss if no run was validated. The loss does not show whether a
// network learns, because it rises with the targets of value iteration.
Quantity QuantityFor(std::span<const VariantRuns> variants) {
  for (const VariantRuns& each : variants) {
    for (const RunRecord& run : each.runs) {
      for (const UpdatePoint& point : run.curve) {
        if (!point.solve_rate) continue;
        return {.name = "% of validation puzzles solved",
                .y = [](const UpdatePoint& p) -> std::optional<double> {
                  if (!p.solve_rate) return std::nullopt;
                  return 100 * *p.solve_rate;
                },
                .from_zero = true};
      }
    }
  }
  return {.name = "loss (no solve rate: the runs were not validated)",
          .y = [](const UpdatePoint& p) { return std::optional(p.loss); }};
}

// Returns a chart with a curve for every run: a thick line for the first seed of a variant, pale
// lines for the others.
Chart ChartOf(std::span<const VariantRuns> variants, const Quantity& quantity, const Coordinate& x,
              std::string x_name) {
  Chart chart{
      .name = quantity.name, .x_name = std::move(x_name), .across = {.least = 0}, .series = {}};
  if (quantity.from_zero) chart.up = Range{.least = 0, .most = 0};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    // The first seed comes last, so that its thick line is on top.
    for (std::size_t seed = variants[i].runs.size(); seed-- > 0;) {
      Series& series = chart.series.emplace_back();
      if (seed == 0) series.name = variants[i].variant.name;
      series.colour = ColourOf(i);
      series.dashes = DashesOf(i);
      series.stroke = seed == 0 ? Stroke::kEvaluation : Stroke::kPale;
      for (const UpdatePoint& point : variants[i].runs[seed].curve) {
        chart.across.Add(x(point));
        const std::optional<double> y = quantity.y(point);
        if (!y) continue;
        if (chart.up) chart.up->Add(*y);
        series.points.push_back({x(point), *y});
      }
    }
  }
  return chart;
}

// Returns notes about the curves, one sentence per line.
std::vector<std::string> Notes(std::span<const VariantRuns> variants) {
  std::vector<std::string> notes;
  if (variants[0].runs.size() > 1) {
    notes.emplace_back("Thick lines are the first seed, pale lines the other seeds.");
  }
  for (std::size_t i = 1; i < variants.size(); ++i) {
    if (!EqualWeights(variants[i], variants[0])) continue;
    notes.push_back(fmt::format(
        "Over iterations, {} coincides with {}: for each seed, their weights are equal.",
        variants[i].variant.name, variants[0].variant.name));
  }
  return notes;
}

double TimelineTop(std::span<const VariantRuns> variants, const std::vector<std::string>& notes) {
  return kLegendTop + kLegendHeight * static_cast<double>(variants.size() + notes.size()) + 24;
}

// Draws the first fills and trainings of each variant, one above the other.
void DrawTimelines(Svg& svg, std::span<const VariantRuns> variants, double timeline_top) {
  const double left = kLeft + 180;
  Range times{.least = 0};
  const auto shown = [](const std::vector<Interval>& all) {
    return std::span(all).first(std::min<std::size_t>(all.size(), kUpdatesShown));
  };
  for (const VariantRuns& each : variants) {
    for (const Interval& training : shown(each.runs.front().trainings)) times.Add(training.end);
  }
  const Axis to_x(times.least, times.most, left, kWidth - 20);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const double top = timeline_top + static_cast<double>(i) * kRowHeight;
    const auto draw = [&](const std::vector<Interval>& stretches, double y, const char* colour,
                          const char* what) {
      for (std::size_t k = 0; k < shown(stretches).size(); ++k) {
        const auto [begin, end] = stretches[k];
        svg.Bar({to_x(begin), y}, to_x(end) - to_x(begin), kBarHeight, colour,
                fmt::format("{} {}: {:.2f} s to {:.2f} s", what, k, begin, end));
      }
    };
    svg.Text({kLeft - 40, top + kBarHeight}, variants[i].variant.name);
    svg.Text({left - 6, top + 11}, "generator", Anchor::kEnd, 10);
    svg.Text({left - 6, top + 11 + kBarHeight + 2}, "training", Anchor::kEnd, 10);
    draw(variants[i].runs.front().fills, top, kFill, "fill");
    draw(variants[i].runs.front().trainings, top + kBarHeight + 2, kTrain, "update");
  }
  const double bottom = timeline_top + static_cast<double>(variants.size()) * kRowHeight;
  for (const double tick : to_x.Ticks(8)) {
    svg.Line({to_x(tick), bottom - 12}, {to_x(tick), bottom - 6}, "#888888");
    svg.Text({to_x(tick), bottom + 6}, fmt::format("{:g}", tick), Anchor::kMiddle);
  }
  svg.Text({left, bottom + 24}, "seconds since the start: the first updates of the first seed");
}

}  // namespace

std::string Figure(std::span<const VariantRuns> variants, const std::string& title) {
  const std::vector<std::string> notes = Notes(variants);
  const Quantity quantity = QuantityFor(variants);
  const double timeline_top = TimelineTop(variants, notes);
  Svg svg(kWidth, timeline_top + static_cast<double>(variants.size()) * kRowHeight + 40);
  svg.Text({kWidth / 2, 24}, title, Anchor::kMiddle, 16);
  Panel panel{.left = kLeft, .top = kPanelTop, .width = kPanelWidth, .height = kPanelHeight};
  const Chart chart = ChartOf(
      variants, quantity, [](const UpdatePoint& p) { return static_cast<double>(p.iterations); },
      "iterations");
  DrawPanel(svg, panel, chart);
  panel.left += kPanelWidth + 90;
  DrawPanel(svg, panel,
            ChartOf(
                variants, quantity, [](const UpdatePoint& p) { return p.seconds; },
                "seconds since the start"));
  DrawLegend(svg, {kLeft, kLegendTop}, chart.series);
  double y = kLegendTop + kLegendHeight * static_cast<double>(variants.size());
  for (const std::string& note : notes) {
    svg.Text({kLeft, y}, note);
    y += kLegendHeight;
  }
  DrawTimelines(svg, variants, timeline_top);
  return svg.Finish();
}

}  // namespace tandem
