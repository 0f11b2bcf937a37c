#include "compare/chart.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace tandem {
namespace {

constexpr std::size_t kMaxDots = 60;  // of a curve
constexpr double kPaleOpacity = 0.4;

// Returns at most kMaxPoints of the points, evenly spaced, with the last one.
std::vector<Point> Thinned(const std::vector<Point>& points) {
  const std::size_t step = (points.size() + kMaxPoints - 1) / kMaxPoints;
  if (step <= 1) return points;
  std::vector<Point> thin;
  for (std::size_t i = 0; i < points.size(); i += step) thin.push_back(points[i]);
  if ((points.size() - 1) % step != 0) thin.push_back(points.back());
  return thin;
}

Range RangeOf(const Chart& chart) {
  if (chart.up) return *chart.up;
  Range range;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) range.Add(point.y);
  }
  return range;
}

void DrawLineSample(Svg& svg, const Series& series, std::span<const Point> line) {
  switch (series.stroke) {
    case Stroke::kEvaluation:
      svg.Polyline(line, series.colour, 2.5, 0.9, series.dashes);
      return;
    case Stroke::kTraining:
      svg.Polyline(line, series.colour, 1.2, 0.8, series.dashes);
      return;
    case Stroke::kConstant:
      svg.Polyline(line, series.colour, 1.5, 0.9, "6 5");
      return;
    case Stroke::kPale:
      svg.Polyline(line, series.colour, 1, kPaleOpacity, series.dashes);
      return;
  }
}

void DrawSeries(Svg& svg, const Series& series, const Axis& to_x, const Axis& to_y) {
  std::vector<Point> line;
  for (const Point& point : Thinned(series.points)) {
    line.push_back({to_x(point.x), to_y(point.y)});
  }
  if (series.best) {
    constexpr double kDisc = 9;
    svg.Dot({to_x(series.best->x), to_y(series.best->y)}, series.colour, kDisc, 0.35);
  }
  DrawLineSample(svg, series, line);
  // A line through a single point is invisible, so a point has a dot in any case.
  const bool is_pale = series.stroke == Stroke::kPale;
  if (series.stroke == Stroke::kConstant || line.size() > (is_pale ? 1 : kMaxDots)) return;
  const double radius = series.stroke == Stroke::kEvaluation ? 3.5 : 2;
  for (const Point& point : line) {
    svg.Dot(point, series.colour, radius, is_pale ? kPaleOpacity : 0.9);
  }
}

Chart WithoutEmptySeries(Chart chart) {
  std::erase_if(chart.series, [](const Series& series) { return series.points.empty(); });
  return chart;
}

}  // namespace

bool Chart::has_points() const {
  return std::ranges::any_of(series, [](const Series& each) { return !each.points.empty(); });
}

void DrawPanel(Svg& svg, const Panel& panel, const Chart& chart) {
  svg.Text({panel.left, panel.top - 10}, chart.name);
  if (!chart.has_points()) {
    svg.Text({panel.left + panel.width / 2, panel.top + panel.height / 2}, "not measured",
             Anchor::kMiddle);
    return;
  }
  constexpr double kMargin = 6;  // so that no line covers the edge
  const Range up = RangeOf(chart);
  const Axis to_x(chart.across.least, chart.across.most, panel.left,
                  panel.left + panel.width - kMargin);
  const Axis to_y(up.least, up.most, panel.bottom() - kMargin, panel.top + kMargin);
  DrawGrid(svg, panel, to_x, to_y);
  svg.Text({panel.left + panel.width / 2, panel.bottom() + 34}, chart.x_name, Anchor::kMiddle);
  for (const Series& series : chart.series) {
    if (!series.points.empty()) DrawSeries(svg, series, to_x, to_y);
  }
}

void DrawLegend(Svg& svg, Point start, std::span<const Series> shown) {
  for (const Series& series : shown) {
    if (series.name.empty()) continue;
    const std::array line = {Point{start.x, start.y - 4}, Point{start.x + 32, start.y - 4}};
    DrawLineSample(svg, series, line);
    svg.Text({start.x + 40, start.y}, series.name);
    start.y += kLegendHeight;
  }
}

void DrawChart(Svg& svg, const Panel& panel, const Chart& chart) {
  DrawPanel(svg, panel, chart);
  DrawLegend(svg, {panel.left, panel.bottom() + 54}, WithoutEmptySeries(chart).series);
}

std::string ChartElement(const Chart& chart) {
  constexpr double kWidth = 400;
  constexpr double kBottom = 200;  // of the panel
  constexpr double kLeft = 44;
  constexpr double kTop = 26;
  constexpr double kBelow = 44;  // the numbers and the name of the horizontal axis
  const double legend =
      kLegendHeight * static_cast<double>(WithoutEmptySeries(chart).series.size());
  Svg svg(kWidth, kBottom + kBelow + legend);
  DrawChart(svg,
            {.left = kLeft, .top = kTop, .width = kWidth - kLeft - 8, .height = kBottom - kTop},
            chart);
  return svg.Element(chart.name);
}

}  // namespace tandem
