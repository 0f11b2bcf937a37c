#include "report/chart.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text.h"

namespace tandem {
namespace {

constexpr const char* kGrid = "#dddddd";
constexpr const char* kDarkText = "#d8dee4";
// Colours in place of those that are hard to see on a dark background.
constexpr std::array<std::pair<const char*, const char*>, 5> kDarkColours = {
    {{"white", "#0d1117"},
     {kGrid, "#30363d"},
     {kColours[0], "#5b8def"},
     {kColours[1], "#f0772b"},
     {kColours[2], "#2bbd92"}}};

// Rules of CSS, which override the attributes of the shapes where the viewer prefers dark colours.
// `scope` comes before the selector of each shape.
std::string DarkRules(std::string_view scope) {
  std::string rules;
  for (const auto& [light, dark] : kDarkColours) {
    rules +=
        fmt::format("{0}[stroke=\"{1}\"] {{ stroke: {2}; }} {0}[fill=\"{1}\"] {{ fill: {2}; }}\n",
                    scope, light, dark);
  }
  return rules;
}

// Draws the grid of a panel, with numbers below and to the left of it.
void DrawGrid(Svg& svg, const Panel& panel, const Axis& to_x, const Axis& to_y) {
  for (const double tick : to_x.Ticks(5)) {
    svg.Line({to_x(tick), panel.top}, {to_x(tick), panel.bottom()}, kGrid);
    svg.Text({to_x(tick), panel.bottom() + 16}, fmt::format("{:g}", tick), Anchor::kMiddle);
  }
  for (const double tick : to_y.Ticks(6)) {
    svg.Line({panel.left, to_y(tick)}, {panel.left + panel.width, to_y(tick)}, kGrid);
    svg.Text({panel.left - 6, to_y(tick) + 4}, fmt::format("{:g}", tick), Anchor::kEnd);
  }
}

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

void DrawLine(Svg& svg, const Series& series, std::span<const Point> line) {
  svg.Polyline(line, series.colour, series.stroke.width, series.stroke.opacity, series.dashes);
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
  DrawLine(svg, series, line);
  if (line.size() > series.stroke.max_dots) return;
  for (const Point& point : line) {
    svg.Dot(point, series.colour, series.stroke.dot_radius, series.stroke.opacity);
  }
}

}  // namespace

Svg::Svg(double width, double height) : width_(width), height_(height) {}

void Svg::Line(Point from, Point to, std::string_view colour, double width) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\"/>\n",
      from.x, from.y, to.x, to.y, colour, width);
}

void Svg::Polyline(std::span<const Point> points, std::string_view colour, double width,
                   double opacity, std::string_view dashes) {
  std::string list;
  for (const Point& point : points) list += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
  const std::string dashed = dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes);
  body_ += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
      "opacity=\"{}\"{}/>\n",
      list, colour, width, opacity, dashed);
}

void Svg::Dot(Point centre, std::string_view colour, double radius, double opacity) {
  body_ +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" opacity=\"{}\"/>\n",
                  centre.x, centre.y, radius, colour, opacity);
}

void Svg::Bar(Point corner, double width, double height, std::string_view colour,
              std::string_view tooltip) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
      "stroke=\"white\" stroke-width=\"0.5\"><title>{}</title></rect>\n",
      corner.x, corner.y, width, height, colour, XmlEscaped(tooltip));
}

void Svg::Text(Point at, std::string_view text, Anchor anchor, double size) {
  constexpr std::array kAnchors = {"start", "middle", "end"};
  body_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n",
                  at.x, at.y, kAnchors[static_cast<int>(anchor)], size, XmlEscaped(text));
}

std::string Svg::Finish() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" fill=\"#222\">\n"
      "<style>@media (prefers-color-scheme: dark) {{\nsvg {{ fill: {3}; }}\n{4}}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
      width_, height_, body_, kDarkText, DarkRules(""));
}

std::string Svg::Element(std::string_view label) const {
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}\">\n{3}</svg>\n",
      width_, height_, XmlEscaped(label), body_);
}

std::string ChartStyle() {
  return fmt::format(
      ".chart {{ display: block; width: 100%; height: auto; font-family: sans-serif; "
      "fill: currentColor; }}\n"
      "@media (prefers-color-scheme: dark) {{\n{}}}\n",
      DarkRules(".chart "));
}

Axis::Axis(double least, double most, double first_pixel, double last_pixel)
    : least_(least),
      most_(most > least ? most : least + 1),
      first_pixel_(first_pixel),
      last_pixel_(last_pixel) {}

double Axis::operator()(double value) const {
  return first_pixel_ + (value - least_) / (most_ - least_) * (last_pixel_ - first_pixel_);
}

std::vector<double> Axis::Ticks(int count) const {
  const double rough = (most_ - least_) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  // Ranges from a file may be so large, or so narrow, that no whole number of steps describes them.
  constexpr double kMostSteps = 1e15;
  const bool can_count = step > 0 && std::isfinite(step) && std::abs(least_ / step) < kMostSteps &&
                         std::abs(most_ / step) < kMostSteps;
  if (!can_count) return {};
  std::vector<double> ticks;
  const auto last = static_cast<long>(std::floor(most_ / step));
  for (auto i = static_cast<long>(std::ceil(least_ / step)); i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

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
    if (series.name.empty() || series.points.empty()) continue;
    const std::array line = {Point{start.x, start.y - 4}, Point{start.x + 32, start.y - 4}};
    DrawLine(svg, series, line);
    svg.Text({start.x + 40, start.y}, series.name);
    start.y += kLegendHeight;
  }
}

std::string ChartElement(const Chart& chart) {
  constexpr double kWidth = 400;
  constexpr double kBottom = 200;  // of the panel
  constexpr double kLeft = 44;
  constexpr double kTop = 26;
  constexpr double kBelow = 44;  // the numbers and the name of the horizontal axis
  const auto shown = std::ranges::count_if(
      chart.series, [](const Series& series) { return !series.points.empty(); });
  const double legend = kLegendHeight * static_cast<double>(shown);
  Svg svg(kWidth, kBottom + kBelow + legend);
  DrawPanel(svg,
            {.left = kLeft, .top = kTop, .width = kWidth - kLeft - 8, .height = kBottom - kTop},
            chart);
  DrawLegend(svg, {kLeft, kBottom + 54}, chart.series);
  return svg.Element(chart.name);
}

}  // namespace tandem
