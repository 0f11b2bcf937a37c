#include "compare/svg.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"

namespace tandem {

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
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
      width_, height_, body_);
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
  std::vector<double> ticks;
  const auto last = static_cast<long>(std::floor(most_ / step));
  for (auto i = static_cast<long>(std::ceil(least_ / step)); i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

}  // namespace tandem
