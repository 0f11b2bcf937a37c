#include "compare/comparison_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compare/svg.h"

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
constexpr double kLegendHeight = 18;
constexpr double kBarHeight = 14;
constexpr double kRowHeight = 50;
constexpr int kUpdatesShown = 8;
constexpr std::size_t kMaxDots = 50;  // per curve

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

// Draws one run: a thick line with dots if it is the first seed of its variant, else a pale line.
void DrawCurve(Svg& svg, const std::vector<Point>& points, std::size_t variant, bool first_seed) {
  const double opacity = first_seed ? 0.9 : 0.4;
  svg.Polyline(points, ColourOf(variant), first_seed ? 2.5 : 1, opacity, DashesOf(variant));
  if (!first_seed || points.size() > kMaxDots) return;
  for (const Point& point : points) svg.Dot(point, ColourOf(variant), 3, opacity);
}

// Draws a curve for every run, in a panel whose left edge is at `left`.
void DrawCurves(Svg& svg, std::span<const VariantRuns> variants, const Quantity& quantity,
                double left, const Coordinate& x, const std::string& x_name) {
  Range across{.least = 0};
  Range up;
  if (quantity.from_zero) up.Add(0);
  for (const VariantRuns& each : variants) {
    for (const RunRecord& run : each.runs) {
      for (const UpdatePoint& point : run.curve) {
        across.Add(x(point));
        if (const std::optional<double> y = quantity.y(point)) up.Add(*y);
      }
    }
  }
  const double bottom = kPanelTop + kPanelHeight;
  const Axis to_x(across.least, across.most, left, left + kPanelWidth);
  const Axis to_y(up.least, up.most, bottom - 5, kPanelTop + 5);
  DrawGrid(svg, {.left = left, .top = kPanelTop, .width = kPanelWidth, .height = kPanelHeight},
           to_x, to_y);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    // The first seed comes last, so that its thick line is on top.
    for (std::size_t seed = variants[i].runs.size(); seed-- > 0;) {
      std::vector<Point> points;
      for (const UpdatePoint& point : variants[i].runs[seed].curve) {
        const std::optional<double> y = quantity.y(point);
        if (y) points.push_back({to_x(x(point)), to_y(*y)});
      }
      DrawCurve(svg, points, i, seed == 0);
    }
  }
  svg.Text({left + kPanelWidth / 2, bottom + 36}, x_name, Anchor::kMiddle);
  svg.Text({left, kPanelTop - 8}, quantity.name);
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

void DrawLegend(Svg& svg, std::span<const VariantRuns> variants,
                const std::vector<std::string>& notes) {
  double y = kLegendTop;
  for (std::size_t i = 0; i < variants.size(); ++i, y += kLegendHeight) {
    const std::array line = {Point{kLeft, y - 4}, Point{kLeft + 40, y - 4}};
    svg.Polyline(line, ColourOf(i), 2.5, 0.9, DashesOf(i));
    svg.Text({kLeft + 48, y}, variants[i].variant.name);
  }
  for (const std::string& note : notes) {
    svg.Text({kLeft, y}, note);
    y += kLegendHeight;
  }
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
  DrawCurves(
      svg, variants, quantity, kLeft,
      [](const UpdatePoint& p) { return static_cast<double>(p.iterations); }, "iterations");
  DrawCurves(
      svg, variants, quantity, kLeft + kPanelWidth + 90,
      [](const UpdatePoint& p) { return p.seconds; }, "seconds since the start");
  DrawLegend(svg, variants, notes);
  DrawTimelines(svg, variants, timeline_top);
  return svg.Finish();
}

}  // namespace tandem
