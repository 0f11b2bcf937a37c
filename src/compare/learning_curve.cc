#include "compare/learning_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "compare/figure.h"

namespace tandem {
namespace {

constexpr double kWidth = 1000;
constexpr double kPanelWidth = 410;
constexpr double kPanelHeight = 200;
constexpr double kLeft = 60;
constexpr double kTop = 64;
constexpr double kColumnStep = kPanelWidth + 90;
constexpr double kRowStep = kPanelHeight + 140;
constexpr double kLegendHeight = 18;
constexpr double kHeight = kTop + 2 * kRowStep + 10;
constexpr std::size_t kMaxDots = 60;     // of a curve
constexpr std::size_t kMaxPoints = 800;  // of a curve; a pixel shows no more
constexpr const char* kReference = "#888888";

enum class Weight {
  kEvaluation,  // a thick line with dots
  kTraining,    // a thin line
  kConstant,    // a thin grey line
};

struct Series {
  std::string name;
  const char* colour = kColours[0];
  Weight weight = Weight::kEvaluation;
  std::vector<Point> points;
  std::optional<Point> best;  // the point of the network that solves best
};

struct Content {
  std::string name;
  std::vector<Series> series;
  std::optional<Range> up;  // of the vertical axis; nothing: the range of the values
};

// A unit of the horizontal axis.
struct Unit {
  double scale = 1;
  std::string name;
};

Unit UnitFor(CurveAxis axis, double most) {
  if (axis == CurveAxis::kExamples) {
    if (most >= 2e6) return {1e6, "millions of training examples"};
    if (most >= 2e3) return {1e3, "thousands of training examples"};
    return {1, "training examples"};
  }
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (most >= 3 * kHour) return {kHour, "hours of training"};
  if (most >= 10 * kMinute) return {kMinute, "minutes of training"};
  return {1, "seconds of training"};
}

// Builds the series of one learning curve.
class SeriesBuilder {
 public:
  explicit SeriesBuilder(const LearningCurve& curve) : curve_(curve) {
    double most = 0;
    for (const EvaluatedNetwork& each : curve.networks) most = std::max(most, Along(each));
    for (const UpdatePoint& each : curve.training) most = std::max(most, Along(each));
    unit_ = UnitFor(curve.axis, most);
    most_ = most / unit_.scale;
  }

  const Unit& unit() const { return unit_; }
  double most() const { return most_; }

  // `y` returns nothing for a network without a value.
  Series OfNetworks(std::string name, const char* colour,
                    const std::function<std::optional<double>(const EvaluationFigures&)>& y) const {
    Series series{.name = std::move(name),
                  .colour = colour,
                  .weight = Weight::kEvaluation,
                  .points = {},
                  .best = {}};
    for (std::size_t i = 0; i < curve_.networks.size(); ++i) {
      const std::optional<double> value = y(curve_.networks[i].figures);
      if (!value) continue;
      series.points.push_back({Along(curve_.networks[i]) / unit_.scale, *value});
      if (curve_.best == i) series.best = series.points.back();
    }
    return series;
  }

  // `y` returns nothing for an update without a value.
  Series OfTraining(std::string name, const char* colour,
                    const std::function<std::optional<double>(const UpdatePoint&)>& y) const {
    Series series{.name = std::move(name),
                  .colour = colour,
                  .weight = Weight::kTraining,
                  .points = {},
                  .best = {}};
    for (const UpdatePoint& point : curve_.training) {
      const std::optional<double> value = y(point);
      if (value) series.points.push_back({Along(point) / unit_.scale, *value});
    }
    return series;
  }

  Series Constant(std::string name, double value) const {
    return {.name = std::move(name),
            .colour = kReference,
            .weight = Weight::kConstant,
            .points = {{0, value}, {most_, value}},
            .best = {}};
  }

 private:
  double Along(const EvaluatedNetwork& network) const {
    return curve_.axis == CurveAxis::kSeconds ? network.trained_s.value()
                                              : static_cast<double>(network.examples.value());
  }
  double Along(const UpdatePoint& point) const {
    return curve_.axis == CurveAxis::kSeconds ? point.seconds : static_cast<double>(point.examples);
  }

  const LearningCurve& curve_;
  Unit unit_;
  double most_ = 0;
};

using Figures = EvaluationFigures;
using MaybeReal = std::optional<double>;

Content SolveRates(const SeriesBuilder& builder) {
  Content content{.name = "% of the states", .series = {}, .up = Range{.least = 0, .most = 100}};
  content.series = {
      builder.OfNetworks("solved by the search", kColours[0],
                         [](const Figures& f) { return MaybeReal(100 * f.solve_rate()); }),
      builder.OfNetworks("solved by a shortest solution", kColours[2],
                         [](const Figures& f) -> MaybeReal {
                           if (!f.known) return std::nullopt;
                           return 100 * f.known->share_optimal();
                         }),
      builder.OfTraining("validation states solved by greedy descent", kColours[1],
                         [](const UpdatePoint& p) -> MaybeReal {
                           if (!p.solve_rate) return std::nullopt;
                           return 100 * *p.solve_rate;
                         })};
  return content;
}

Content Lengths(const SeriesBuilder& builder, const LearningCurve& curve) {
  Content content{.name = "moves", .series = {}, .up = {}};
  content.series = {builder.OfNetworks("mean length of the solutions found", kColours[0],
                                       [](const Figures& f) -> MaybeReal {
                                         if (f.solved == 0) return std::nullopt;
                                         return f.mean_length;
                                       })};
  const std::optional<KnownLengthFigures>& known = curve.networks.front().figures.known;
  if (known) {
    content.series.push_back(
        builder.Constant("mean length of the shortest solutions", known->mean_length));
  }
  return content;
}

Content Errors(const SeriesBuilder& builder) {
  Content content{.name = "error of the estimates (root mean square)", .series = {}, .up = {}};
  content.series = {builder.OfNetworks("of the states, against optimal lengths", kColours[0],
                                       [](const Figures& f) -> MaybeReal {
                                         if (!f.known || !f.known->estimates) return std::nullopt;
                                         return f.known->estimates->error;
                                       }),
                    builder.OfTraining("validation, against optimal lengths", kColours[1],
                                       [](const UpdatePoint& p) { return p.value_error; }),
                    builder.OfTraining("validation, against walk lengths", kColours[1],
                                       [](const UpdatePoint& p) { return p.walk_length_error; })};
  return content;
}

Content Losses(const SeriesBuilder& builder) {
  Content content{.name = "loss of training", .series = {}, .up = {}};
  // The point before the first update has no loss.
  content.series = {
      builder.OfTraining("mean of each update", kColours[3], [](const UpdatePoint& p) -> MaybeReal {
        if (p.iterations == 0) return std::nullopt;
        return p.loss;
      })};
  return content;
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

Range RangeOf(const Content& content) {
  if (content.up) return *content.up;
  Range range;
  for (const Series& series : content.series) {
    for (const Point& point : series.points) range.Add(point.y);
  }
  return range;
}

void DrawLineSample(Svg& svg, const Series& series, std::span<const Point> line) {
  switch (series.weight) {
    case Weight::kEvaluation:
      svg.Polyline(line, series.colour, 2.5, 0.9);
      return;
    case Weight::kTraining:
      svg.Polyline(line, series.colour, 1.2, 0.8);
      return;
    case Weight::kConstant:
      svg.Polyline(line, series.colour, 1.5, 0.9, "6 5");
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
  if (series.weight == Weight::kConstant || line.size() > kMaxDots) return;
  const double radius = series.weight == Weight::kEvaluation ? 3.5 : 2;
  for (const Point& point : line) svg.Dot(point, series.colour, radius, 0.9);
}

void DrawLegend(Svg& svg, const Panel& panel, std::span<const Series> shown) {
  double y = panel.bottom() + 54;
  for (const Series& series : shown) {
    const std::array line = {Point{panel.left, y - 4}, Point{panel.left + 32, y - 4}};
    DrawLineSample(svg, series, line);
    svg.Text({panel.left + 40, y}, series.name);
    y += kLegendHeight;
  }
}

void DrawPanel(Svg& svg, const Panel& panel, Content content, const SeriesBuilder& builder) {
  std::erase_if(content.series, [](const Series& series) { return series.points.empty(); });
  svg.Text({panel.left, panel.top - 10}, content.name);
  if (content.series.empty()) {
    svg.Text({panel.left + panel.width / 2, panel.top + panel.height / 2}, "not measured",
             Anchor::kMiddle);
    return;
  }
  constexpr double kMargin = 6;  // so that no line covers the edge
  const Range up = RangeOf(content);
  const Axis to_x(0, builder.most(), panel.left, panel.left + panel.width - kMargin);
  const Axis to_y(up.least, up.most, panel.bottom() - kMargin, panel.top + kMargin);
  DrawGrid(svg, panel, to_x, to_y);
  svg.Text({panel.left + panel.width / 2, panel.bottom() + 34}, builder.unit().name,
           Anchor::kMiddle);
  for (const Series& series : content.series) DrawSeries(svg, series, to_x, to_y);
  DrawLegend(svg, panel, content.series);
}

std::string BestNote(const LearningCurve& curve) {
  if (!curve.best || curve.networks.size() < 2) return "";
  const EvaluatedNetwork& best = curve.networks[*curve.best];
  return fmt::format("The pale disc marks the network that solves best: {}.", best.name);
}

}  // namespace

std::string LearningCurveFigure(const LearningCurve& curve) {
  const SeriesBuilder builder(curve);
  Svg svg(kWidth, kHeight);
  svg.Text({kWidth / 2, 26}, curve.title, Anchor::kMiddle, 16);
  const std::array contents = {SolveRates(builder), Lengths(builder, curve), Errors(builder),
                               Losses(builder)};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const std::size_t row = i / 2;
    const Panel panel{.left = kLeft + static_cast<double>(i % 2) * kColumnStep,
                      .top = kTop + static_cast<double>(row) * kRowStep,
                      .width = kPanelWidth,
                      .height = kPanelHeight};
    DrawPanel(svg, panel, contents[i], builder);
  }
  svg.Text({kLeft, kHeight - 10}, BestNote(curve));
  return svg.Finish();
}

}  // namespace tandem
