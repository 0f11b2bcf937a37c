#include "compare/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "compare/svg.h"

namespace tandem {
namespace {

// Told apart also by those who see few colours (Okabe and Ito).
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr const char* kGrid = "#dddddd";
constexpr const char* kFill = "#e69f00";
constexpr const char* kTrain = "#0072b2";

constexpr double kWidth = 1000;
constexpr double kPanelTop = 60;
constexpr double kPanelHeight = 300;
constexpr double kLeft = 60;
constexpr double kPanelWidth = 410;
constexpr double kTimelineTop = kPanelTop + kPanelHeight + 90;
constexpr double kBarHeight = 14;
constexpr double kRowHeight = 50;
constexpr int kUpdatesShown = 8;

const char* ColourOf(std::size_t variant) { return kColours[variant % kColours.size()]; }

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

using Coordinate = std::function<double(const UpdatePoint&)>;

// The loss of every run against `x`, in a panel whose left edge is at `left`.
void DrawLosses(Svg& svg, std::span<const VariantRuns> variants, double left, const Coordinate& x,
                const std::string& x_name) {
  Range across{.least = 0};
  Range losses;
  for (const VariantRuns& each : variants) {
    for (const RunRecord& run : each.runs) {
      for (const UpdatePoint& point : run.curve) {
        across.Add(x(point));
        losses.Add(point.loss);
      }
    }
  }
  const double bottom = kPanelTop + kPanelHeight;
  const Axis to_x(across.least, across.most, left, left + kPanelWidth);
  const Axis to_y(losses.least, losses.most, bottom - 5, kPanelTop + 5);
  for (const double tick : to_x.Ticks(5)) {
    svg.Line({to_x(tick), kPanelTop}, {to_x(tick), bottom}, kGrid);
    svg.Text({to_x(tick), bottom + 16}, fmt::format("{:g}", tick), Anchor::kMiddle);
  }
  for (const double tick : to_y.Ticks(6)) {
    svg.Line({left, to_y(tick)}, {left + kPanelWidth, to_y(tick)}, kGrid);
    svg.Text({left - 6, to_y(tick) + 4}, fmt::format("{:g}", tick), Anchor::kEnd);
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t seed = 0; seed < variants[i].runs.size(); ++seed) {
      std::vector<Point> points;
      for (const UpdatePoint& point : variants[i].runs[seed].curve) {
        points.push_back({to_x(x(point)), to_y(point.loss)});
      }
      svg.Polyline(points, ColourOf(i), seed == 0 ? 2 : 1, seed == 0 ? 0.9 : 0.4);
    }
  }
  svg.Text({left + kPanelWidth / 2, bottom + 36}, x_name, Anchor::kMiddle);
  svg.Text({left, kPanelTop - 8}, "loss");
}

void DrawLegend(Svg& svg, std::span<const VariantRuns> variants) {
  double x = kLeft;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    svg.Line({x, kPanelTop + kPanelHeight + 56}, {x + 24, kPanelTop + kPanelHeight + 56},
             ColourOf(i), 3);
    svg.Text({x + 30, kPanelTop + kPanelHeight + 60}, variants[i].variant.name);
    x += 50 + 7.0 * static_cast<double>(variants[i].variant.name.size());
  }
}

// The first fills and trainings of each variant, one above the other.
void DrawTimelines(Svg& svg, std::span<const VariantRuns> variants) {
  const double left = kLeft + 180;
  Range times{.least = 0};
  const auto shown = [](const std::vector<Stretch>& all) {
    return std::span(all).first(std::min<std::size_t>(all.size(), kUpdatesShown));
  };
  for (const VariantRuns& each : variants) {
    for (const Stretch& training : shown(each.runs.front().trainings)) times.Add(training.end);
  }
  const Axis to_x(times.least, times.most, left, kWidth - 20);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const double top = kTimelineTop + static_cast<double>(i) * kRowHeight;
    const auto draw = [&](const std::vector<Stretch>& stretches, double y, const char* colour,
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
  const double bottom = kTimelineTop + static_cast<double>(variants.size()) * kRowHeight;
  for (const double tick : to_x.Ticks(8)) {
    svg.Line({to_x(tick), bottom - 12}, {to_x(tick), bottom - 6}, "#888888");
    svg.Text({to_x(tick), bottom + 6}, fmt::format("{:g}", tick), Anchor::kMiddle);
  }
  svg.Text({left, bottom + 24}, "seconds since the start: the first updates of the first seed");
}

}  // namespace

std::string Figure(std::span<const VariantRuns> variants, const std::string& title) {
  Svg svg(kWidth, kTimelineTop + static_cast<double>(variants.size()) * kRowHeight + 40);
  svg.Text({kWidth / 2, 24}, title, Anchor::kMiddle, 16);
  DrawLosses(
      svg, variants, kLeft, [](const UpdatePoint& p) { return static_cast<double>(p.iterations); },
      "iterations");
  DrawLosses(
      svg, variants, kLeft + kPanelWidth + 90, [](const UpdatePoint& p) { return p.seconds; },
      "seconds");
  DrawLegend(svg, variants);
  DrawTimelines(svg, variants);
  return svg.Finish();
}

}  // namespace tandem
