// Charts: curves of one quantity over another, with a grid, a legend and the names of the axes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/svg.h"

namespace tandem {

/// The most points of a curve that are drawn; a pixel shows no more.
inline constexpr std::size_t kMaxPoints = 800;

/// How a curve is drawn.
enum class Stroke {
  kEvaluation,  ///< a thick line with dots
  kTraining,    ///< a thin line
  kConstant,    ///< a dashed grey line, such as a reference
  kPale,        ///< a thin pale line, such as a repetition of another curve
};

/// Series is one curve of a chart.
struct Series {
  std::string name;  ///< in the legend; "": the legend leaves the series out
  const char* colour = kColours[0];
  Stroke stroke = Stroke::kEvaluation;
  const char* dashes = "";  ///< as in Svg::Polyline
  std::vector<Point> points;
  std::optional<Point> best = std::nullopt;  ///< point to mark with a pale disc
};

/// Colour of reference curves.
inline constexpr const char* kReference = "#888888";

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

/// Draws the line and the name of each series, kLegendHeight apart. The first text begins at
/// `start`.
void DrawLegend(Svg& svg, Point start, std::span<const Series> shown);
inline constexpr double kLegendHeight = 18;

/// Draws a chart in a panel (DrawPanel), with a legend of the series that have points below it.
void DrawChart(Svg& svg, const Panel& panel, const Chart& chart);

/// Returns the chart as an <svg> element for an HTML page (Svg::Element). It is narrow enough for
/// the screen of a phone.
std::string ChartElement(const Chart& chart);

}  // namespace tandem
