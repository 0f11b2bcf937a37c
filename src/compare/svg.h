// Draws simple SVG pictures: lines, bars and text.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
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

  /// Returns the picture as an element that is stretched to the width of the element around it and
  /// keeps its height. For pictures without text.
  std::string Strip(std::string_view label) const;

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

/// Draws the grid of a panel, with numbers below and to the left of it.
void DrawGrid(Svg& svg, const Panel& panel, const Axis& to_x, const Axis& to_y);

}  // namespace tandem
