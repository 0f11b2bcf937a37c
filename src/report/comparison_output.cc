// What a comparison says in sentences, and its figure.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "report/chart.h"
#include "report/comparison.h"

namespace tandem {
namespace {

constexpr double kUnlikely = 0.1;

// Returns the probability with which chance alone makes the differences of all seeds agree.
double LeastChance(std::size_t seeds) { return std::ldexp(2, -static_cast<int>(seeds)); }

// Returns "such a difference arises by chance in 25.0 % of cases".
std::string DescribeChance(double chance, std::size_t seeds) {
  const bool is_least = seeds < kEnoughSeeds && chance <= LeastChance(seeds);
  return fmt::format("such a difference arises by chance in {:.1f} % of cases{}", 100 * chance,
                     is_least ? fmt::format(", the least possible with {} seeds", seeds) : "");
}

std::string DescribeSpeed(const Compared& speed_up, std::size_t seeds) {
  const Spread& spread = speed_up.spread.value();
  std::string sentence = fmt::format("{:.3f}x as fast", spread.median);
  if (seeds == 1) return sentence;
  if (seeds >= kMinSeeds && speed_up.chance > kUnlikely) sentence = "no difference in speed shown";
  return fmt::format("{} ({:.3f} to {:.3f} over {} seeds; {})", sentence, spread.least, spread.most,
                     seeds, DescribeChance(speed_up.chance.value_or(1), seeds));
}

std::string DescribeSolveRate(const Compared& rate, const Compared& first, const char* after,
                              std::size_t seeds) {
  if (!rate.spread || !first.spread) return "";
  if (seeds > 1 && rate.chance == 1.0) {
    return fmt::format("; after equal {} no difference in solve rate", after);
  }
  std::string sentence = fmt::format("; after equal {} it solves {:.1f} % instead of {:.1f} %",
                                     after, 100 * rate.spread->median, 100 * first.spread->median);
  if (seeds == 1 || !rate.chance) return sentence;
  if (seeds >= kMinSeeds && *rate.chance > kUnlikely) {
    sentence = fmt::format("; after equal {} no difference in solve rate shown", after);
  }
  return fmt::format("{} ({})", sentence, DescribeChance(*rate.chance, seeds));
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

// Says which row has the highest median of `measure`, as "async is fastest", or that no difference
// was shown. `what` names the measure. Returns "" if a row does not have it.
std::string DescribeBest(std::span<const Row> rows, std::size_t seeds, Compared Row::*measure,
                         const char* wins, const char* what,
                         const std::function<std::string(const Row&)>& why) {
  const Row* best = &rows.front();
  bool differ = false;
  for (const Row& row : rows) {
    const std::optional<Spread>& spread = (row.*measure).spread;
    if (!spread) return "";
    const double most = (best->*measure).spread->median;
    differ = differ || spread->median != most;
    if (spread->median > most) best = &row;
  }
  const auto is_unlikely = [&](const Row& row) {
    return (row.*measure).chance.value_or(1) <= kUnlikely;
  };
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
      DescribeBest(rows, seeds, &Row::speed_up, "is fastest", "speed", why_fast),
      DescribeBest(rows, seeds, &Row::solve_rate, "solves most after equal iterations",
                   "solve rates after equal iterations", why_learned),
      DescribeBest(rows, seeds, &Row::solve_rate_equal_time, "solves most after equal seconds",
                   "solve rates after equal seconds", [](const Row& /*best*/) { return ""; })};
  std::erase(parts, "");
  return fmt::format("in short: {}{}", fmt::join(parts, "; "),
                     seeds < kMinSeeds ? "; all of this may be chance" : "");
}

// Dash patterns. If one curve covers another, the other shows through the gaps.
constexpr std::array kDashes = {"", "10 8", "4 8", "14 5 3 5"};
constexpr const char* kFill = "#e69f00";
constexpr const char* kTrain = "#0072b2";

constexpr double kPanelTop = 60;
constexpr double kPanelHeight = 300;
constexpr double kLegendTop = kPanelTop + kPanelHeight + 64;
constexpr double kBarHeight = 14;
constexpr double kRowHeight = 50;
constexpr int kUpdatesShown = 8;

bool WasValidated(const VariantRuns& variant) {
  return std::ranges::any_of(variant.runs, [](const RunRecord& run) {
    return std::ranges::any_of(run.curve,
                               [](const UpdatePoint& p) { return p.solve_rate.has_value(); });
  });
}

// The solve rate in percent, if the runs were validated, or else the loss.
std::optional<double> HeightOf(const UpdatePoint& point, bool validated) {
  if (!validated) return point.loss;
  return point.solve_rate ? std::optional(100 * *point.solve_rate) : std::nullopt;
}

// Returns a chart with a curve for every run, pale except for the first seed of a variant. It shows
// the solve rate, or, if no run was validated, the loss, which rises with the targets of value
// iteration.
template <class Coordinate>
Chart ChartOf(std::span<const VariantRuns> variants, const char* x_name, const Coordinate& x) {
  const bool validated = std::ranges::any_of(variants, WasValidated);
  Chart chart{.name = validated ? "% of validation puzzles solved"
                                : "loss (no solve rate: the runs were not validated)",
              .x_name = x_name,
              .across = {.least = 0},
              .series = {}};
  if (validated) chart.up = Range{.least = 0, .most = 0};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    // The first seed comes last, so that its thick line is on top.
    for (std::size_t seed = variants[i].runs.size(); seed-- > 0;) {
      Series& series = chart.series.emplace_back();
      if (seed == 0) series.name = variants[i].variant.name;
      series.colour = kColours[i % kColours.size()];
      series.dashes = kDashes[i % kDashes.size()];
      series.stroke = seed == 0 ? kEvaluation : kPale;
      for (const UpdatePoint& point : variants[i].runs[seed].curve) {
        chart.across.Add(static_cast<double>(x(point)));
        const std::optional<double> y = HeightOf(point, validated);
        if (!y) continue;
        if (chart.up) chart.up->Add(*y);
        series.points.push_back({static_cast<double>(x(point)), *y});
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

// Draws the first fills and trainings of each variant, one above the other.
void DrawTimelines(Svg& svg, std::span<const VariantRuns> variants, double timeline_top) {
  const double left = kPanelLeft + 180;
  Range times{.least = 0};
  const auto shown = [](const std::vector<Interval>& all) {
    return std::span(all).first(std::min<std::size_t>(all.size(), kUpdatesShown));
  };
  for (const VariantRuns& each : variants) {
    for (const Interval& training : shown(each.runs.front().trainings)) times.Add(training.end);
  }
  const Axis to_x(times.least, times.most, left, kFigureWidth - 20);
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
    svg.Text({kPanelLeft - 40, top + kBarHeight}, variants[i].variant.name);
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

std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds) {
  std::vector<std::string> sentences;
  const Row& first = rows.front();
  for (const Row& row : rows.subspan(1)) {
    sentences.push_back(fmt::format(
        "{} against {}: {}{}{}{}", row.variant.name, first.variant.name,
        DescribeSpeed(row.speed_up, seeds),
        DescribeSolveRate(row.solve_rate, first.solve_rate, "iterations", seeds),
        DescribeSolveRate(row.solve_rate_equal_time, first.solve_rate_equal_time, "seconds", seeds),
        MoreSeeds(seeds)));
  }
  if (rows.size() > 1) sentences.push_back(SumUp(rows, seeds));
  return sentences;
}

std::string Figure(std::span<const VariantRuns> variants, const std::string& title) {
  const std::vector<std::string> notes = Notes(variants);
  const double notes_top = kLegendTop + kLegendHeight * static_cast<double>(variants.size());
  const double timeline_top = notes_top + kLegendHeight * static_cast<double>(notes.size()) + 24;
  Svg svg(kFigureWidth, timeline_top + static_cast<double>(variants.size()) * kRowHeight + 40);
  svg.Text({kFigureWidth / 2, 24}, title, Anchor::kMiddle, 16);
  Panel panel{.left = kPanelLeft, .top = kPanelTop, .width = kPanelWidth, .height = kPanelHeight};
  const Chart chart =
      ChartOf(variants, "iterations", [](const UpdatePoint& p) { return p.iterations; });
  DrawPanel(svg, panel, chart);
  panel.left += kPanelStep;
  DrawPanel(svg, panel, ChartOf(variants, "seconds since the start", [](const UpdatePoint& p) {
              return p.seconds;
            }));
  DrawLegend(svg, {kPanelLeft, kLegendTop}, chart.series);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    svg.Text({kPanelLeft, notes_top + kLegendHeight * static_cast<double>(i)}, notes[i]);
  }
  DrawTimelines(svg, variants, timeline_top);
  return svg.Finish();
}

}  // namespace tandem
