#include "report/learning_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

// A unit of the horizontal axis.
struct Unit {
  double scale = 1;
  std::string name;
};

Unit UnitFor(double most) {
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
    unit_ = UnitFor(most);
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
  static double Along(const EvaluatedNetwork& network) { return network.trained_s.value(); }
  static double Along(const UpdatePoint& point) { return point.seconds; }
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

}  // namespace

std::vector<Chart> LearningCharts(const LearningCurve& curve) {
  const SeriesBuilder builder(curve);
  return {SolveRates(builder), Lengths(builder, curve), Errors(builder), Losses(builder)};
}

}  // namespace tandem
