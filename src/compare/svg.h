// Simple vector drawings: lines, bars and words on a page.
#pragma once

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

/// Collects shapes and makes the file of them. Units are pixels, y grows downwards.
class Svg {
 public:
  Svg(double width, double height);

  void Line(Point from, Point to, std::string_view colour, double width = 1);
  /// `dashes`: lengths of dashes and gaps in turn, such as "8 4"; "": a solid line.
  void Polyline(std::span<const Point> points, std::string_view colour, double width,
                double opacity, std::string_view dashes = "");
  void Dot(Point centre, std::string_view colour, double radius, double opacity);
  void Bar(Point corner, double width, double height, std::string_view colour,
           std::string_view tooltip = "");
  void Text(Point at, std::string_view text, Anchor anchor = Anchor::kStart, double size = 12);

  std::string Finish() const;

 private:
  double width_, height_;
  std::string body_;
};

/// Maps a range of values onto a range of pixels, with round numbers to mark.
class Axis {
 public:
  /// A range of no width is widened.
  Axis(double least, double most, double first_pixel, double last_pixel);

  double operator()(double value) const;

  /// About `count` round values within the range: 1, 2 or 5 times a power of ten apart.
  std::vector<double> Ticks(int count) const;

 private:
  double least_, most_, first_pixel_, last_pixel_;
};

}  // namespace tandem
