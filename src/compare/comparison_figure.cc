#include "compare/comparison_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/chart.h"

namespace tandem {
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
