// Charts of points and curves, as SVG.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct Point {
  double x = 0;
  double y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

/// Colours of curves that people with colour blindness can tell apart (Okabe and Ito).
inline constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73",
                                        "#cc79a7", "#e69f00", "#56b4e9"};

/// Svg collects shapes and writes them as an SVG file. Units are pixels; y grows downwards. A
/// viewer that prefers dark colours shows the picture on a dark background, with the colours of
/// this file made lighter.
class Svg {
 public:
  Svg(double width, double height);

  void Line(Point from, Point to, std::string_view colour, double width = 1);
  /// `dashes` lists the lengths of dashes and gaps, such as "8 4". "" draws a solid line.
  void Polyline(std::span<const Point> points, std::string_view colour, double width,
                double opacity, std::string_view dashes = "");
  void Dot(Point centre, std::string_view colour, double radius, double opacity);
  void Bar(Point corner, double width, double height, std::string_view colour,
           std::string_view tooltip = "");
  void Text(Point at, std::string_view text, Anchor anchor = Anchor::kStart, double size = 12);

  /// Returns the picture as a file.
  std::string Finish() const;

  /// Returns the picture as an <svg class="chart"> element for an HTML page that has ChartStyle().
  /// It is transparent and as wide as the element around it. `label` describes it to screen
  /// readers.
  std::string Element(std::string_view label) const;

 private:
  double width_, height_;
  std::string body_;
};

/// Returns the rules of CSS for the elements that Svg::Element returns. A viewer that prefers dark
/// colours gets those of Svg::Finish.
std::string ChartStyle();

/// Axis maps a range of values to a range of pixels, and chooses round values for ticks.
class Axis {
 public:
  /// If `most` is not above `least`, the range is widened to a width of 1.
  Axis(double least, double most, double first_pixel, double last_pixel);

  double operator()(double value) const;

  /// Returns about `count` round values in the range, 1, 2 or 5 times a power of ten apart.
  std::vector<double> Ticks(int count) const;

 private:
  double least_, most_, first_pixel_, last_pixel_;
};

/// Range is the least and the greatest of some values.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

/// Panel is a rectangle in which curves are drawn.
struct Panel {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  double bottom() const { return top + height; }
};

// A figure of two columns of panels, in pixels.
inline constexpr double kFigureWidth = 1000;
inline constexpr double kPanelLeft = 60;
inline constexpr double kPanelWidth = 410;
inline constexpr double kPanelStep = kPanelWidth + 90;

/// The most points of a curve that are drawn; a pixel shows no more.
inline constexpr std::size_t kMaxPoints = 800;

/// Stroke says how a curve is drawn: its line, and its dots if it has few points.
struct Stroke {
  double width, opacity, dot_radius;
  std::size_t max_dots;
};
inline constexpr Stroke kEvaluation = {2.5, 0.9, 3.5, 60};
inline constexpr Stroke kTraining = {1.2, 0.8, 2, 60};
/// Of a reference, which is dashed and grey.
inline constexpr Stroke kConstant = {1.5, 0.9, 0, 0};
inline constexpr const char* kReference = "#888888";
inline constexpr const char* kReferenceDashes = "6 5";
/// Of a repetition of another curve. A line through a single point is invisible, so that has a dot.
inline constexpr Stroke kPale = {1, 0.4, 2, 1};

/// Series is one curve of a chart.
struct Series {
  std::string name;  ///< in the legend; "": the legend leaves the series out
  const char* colour = kColours[0];
  Stroke stroke = kEvaluation;
  const char* dashes = "";  ///< as in Svg::Polyline
  std::vector<Point> points;
  std::optional<Point> best = std::nullopt;  ///< point to mark with a pale disc
};

/// Chart holds what a panel shows.
struct Chart {
  std::string name;    ///< of the vertical axis
  std::string x_name;  ///< of the horizontal axis
  Range across;        ///< of the horizontal axis
  std::vector<Series> series;
  std::optional<Range> up = std::nullopt;  ///< of the vertical axis; nothing: of the values

  /// Whether a series has a point.
  bool has_points() const;
};

/// Draws a chart in a panel, its name above it and the horizontal axis below it. A chart without
/// points says "not measured".
void DrawPanel(Svg& svg, const Panel& panel, const Chart& chart);

/// Draws the line and the name of each series that has both, kLegendHeight apart. The first text
/// begins at `start`.
void DrawLegend(Svg& svg, Point start, std::span<const Series> shown);
inline constexpr double kLegendHeight = 18;

/// Returns the chart as an <svg> element for an HTML page (Svg::Element). It is narrow enough for
/// the screen of a phone.
std::string ChartElement(const Chart& chart);

}  // namespace tandem
