#include "report/learning_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

constexpr double kPanelRows = 200;  // pixels
constexpr double kTop = 64;
constexpr double kRowStep = kPanelRows + 140;
constexpr double kHeight = kTop + 2 * kRowStep + 10;

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

  Chart ChartOf(std::string name, std::vector<Series> series,
                std::optional<Range> up = std::nullopt) const {
    return {.name = std::move(name),
            .x_name = unit_.name,
            .across = {.least = 0, .most = most_},
            .series = std::move(series),
            .up = up};
  }

  // `y` returns nothing for a network without a value.
  template <class Y>
  Series OfNetworks(std::string name, const char* colour, const Y& y) const {
    const auto y_of = [&](const EvaluatedNetwork& network) { return y(network.figures); };
    Series series = SeriesOf(curve_.networks, std::move(name), colour, kEvaluation, y_of);
    if (const std::optional<std::size_t> number = BestBySolving(curve_.networks)) {
      const EvaluatedNetwork& best = curve_.networks[*number];
      if (const std::optional<double> value = y_of(best)) series.best = {At(best), *value};
    }
    return series;
  }

  // `y` returns nothing for an update without a value.
  template <class Y>
  Series OfTraining(std::string name, const char* colour, const Y& y) const {
    return SeriesOf(curve_.training, std::move(name), colour, kTraining, y);
  }

  Series Constant(std::string name, double value) const {
    return {.name = std::move(name),
            .colour = kReference,
            .stroke = kConstant,
            .dashes = kReferenceDashes,
            .points = {{0, value}, {most_, value}}};
  }

 private:
  double Along(const EvaluatedNetwork& network) const {
    return curve_.axis == CurveAxis::kSeconds ? network.trained_s.value()
                                              : static_cast<double>(network.examples.value());
  }
  double Along(const UpdatePoint& point) const {
    return curve_.axis == CurveAxis::kSeconds ? point.seconds : static_cast<double>(point.examples);
  }
  double At(const auto& item) const { return Along(item) / unit_.scale; }

  Series SeriesOf(const auto& items, std::string name, const char* colour, const Stroke& stroke,
                  const auto& y) const {
    Series series{.name = std::move(name), .colour = colour, .stroke = stroke, .points = {}};
    for (const auto& item : items) {
      if (const std::optional<double> value = y(item)) series.points.push_back({At(item), *value});
    }
    return series;
  }

  const LearningCurve& curve_;
  Unit unit_;
  double most_ = 0;
};

using Figures = SolveFigures;

double InPercent(double share) { return 100 * share; }

Chart SolveRates(const SeriesBuilder& builder) {
  return builder.ChartOf(
      "% of the states",
      {builder.OfNetworks(
           "solved by the search", kColours[0],
           [](const Figures& f) { return std::optional(InPercent(f.solve_rate())); }),
       builder.OfNetworks("solved by a shortest solution", kColours[2],
                          [](const Figures& f) {
                            return IfKnown(f.known, [](const KnownLengthFigures& known) {
                              return InPercent(known.share_optimal());
                            });
                          }),
       builder.OfTraining("validation states solved during training", kColours[1],
                          [](const UpdatePoint& p) { return IfKnown(p.solve_rate, InPercent); })},
      Range{.least = 0, .most = 100});
}

Chart Lengths(const SeriesBuilder& builder, const LearningCurve& curve) {
  Chart chart = builder.ChartOf(
      "moves",
      {builder.OfNetworks("mean length of the solutions found", kColours[0], [](const Figures& f) {
        return f.solved > 0 ? std::optional(f.mean_length) : std::nullopt;
      })});
  if (!curve.networks.empty() && curve.networks.front().figures.known) {
    chart.series.push_back(builder.Constant("mean length of the shortest solutions",
                                            curve.networks.front().figures.known->mean_length));
  }
  return chart;
}

Chart Errors(const SeriesBuilder& builder) {
  return builder.ChartOf(
      "error of the estimates (root mean square)",
      {builder.OfNetworks("of the states, against optimal lengths", kColours[0],
                          [](const Figures& f) {
                            return f.known ? IfKnown(f.known->estimates, &EstimateFigures::error)
                                           : std::nullopt;
                          }),
       builder.OfTraining("validation, against optimal lengths", kColours[1],
                          [](const UpdatePoint& p) { return p.value_error; }),
       builder.OfTraining("validation, against walk lengths", kColours[1],
                          [](const UpdatePoint& p) { return p.walk_length_error; })});
}

Chart Losses(const SeriesBuilder& builder) {
  // The point before the first update has no loss.
  return builder.ChartOf(
      "loss of training",
      {builder.OfTraining("mean of each update", kColours[3], [](const UpdatePoint& p) {
        return p.iterations > 0 ? std::optional(p.loss) : std::nullopt;
      })});
}

std::string BestNote(const LearningCurve& curve) {
  const std::optional<std::size_t> best = BestBySolving(curve.networks);
  if (!best || curve.networks.size() < 2) return "";
  return fmt::format("The pale disc marks the network that solves best: {}.",
                     curve.networks[*best].name);
}

}  // namespace

std::vector<Chart> LearningCharts(const LearningCurve& curve) {
  const SeriesBuilder builder(curve);
  return {SolveRates(builder), Lengths(builder, curve), Errors(builder), Losses(builder)};
}

std::string LearningCurveFigure(const LearningCurve& curve) {
  Svg svg(kFigureWidth, kHeight);
  svg.Text({kFigureWidth / 2, 26}, curve.title, Anchor::kMiddle, 16);
  const std::vector<Chart> charts = LearningCharts(curve);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::size_t row = i / 2;
    const Panel panel{.left = kPanelLeft + static_cast<double>(i % 2) * kPanelStep,
                      .top = kTop + static_cast<double>(row) * kRowStep,
                      .width = kPanelWidth,
                      .height = kPanelRows};
    DrawChart(svg, panel, charts[i]);
  }
  svg.Text({kPanelLeft, kHeight - 10}, BestNote(curve));
  return svg.Finish();
}

}  // namespace tandem
