#include "compare/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

std::string Svg::Strip(std::string_view label) const {
  return fmt::format(
      "<svg class=\"chart strip\" viewBox=\"0 0 {0} {1}\" preserveAspectRatio=\"none\" "
      "style=\"height: {1}px\" role=\"img\" aria-label=\"{2}\">\n{3}</svg>\n",
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

bool WeightsEqualFirst(std::span<const VariantRuns> variants, std::size_t of) {
  for (std::size_t seed = 0; seed < variants[of].runs.size(); ++seed) {
    const std::string& weights = variants[of].runs[seed].weights_sha256;
    if (weights.empty() || weights != variants[0].runs[seed].weights_sha256) return false;
  }
  return true;
}

// Returns notes about the curves, one sentence per line.
std::vector<std::string> Notes(std::span<const VariantRuns> variants) {
  std::vector<std::string> notes;
  if (variants[0].runs.size() > 1) {
    notes.emplace_back("Thick lines are the first seed, pale lines the other seeds.");
  }
  for (std::size_t i = 1; i < variants.size(); ++i) {
    if (!WeightsEqualFirst(variants, i)) continue;
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
