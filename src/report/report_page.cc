#include "report/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "report_page_files.h"

namespace tandem {
namespace {

constexpr const char* kGenerating = kColours[4];

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
  SeriesBuilder(std::span<const UpdatePoint> training, std::span<const EvaluatedNetwork> networks)
      : training_(training), networks_(networks) {
    double most = 0;
    for (const EvaluatedNetwork& each : networks) most = std::max(most, Along(each));
    for (const UpdatePoint& each : training) most = std::max(most, Along(each));
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
    Series series = SeriesOf(networks_, std::move(name), colour, kEvaluation, y_of);
    if (const std::optional<std::size_t> number = BestBySolving(networks_)) {
      const EvaluatedNetwork& best = networks_[*number];
      if (const std::optional<double> value = y_of(best)) series.best = {At(best), *value};
    }
    return series;
  }

  // `y` returns nothing for an update without a value.
  template <class Y>
  Series OfTraining(std::string name, const char* colour, const Y& y) const {
    return SeriesOf(training_, std::move(name), colour, kTraining, y);
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

  const std::span<const UpdatePoint> training_;
  const std::span<const EvaluatedNetwork> networks_;
  Unit unit_;
  double most_ = 0;
};

double InPercent(double share) { return 100 * share; }

Chart SolveRates(const SeriesBuilder& builder, bool is_game) {
  return builder.ChartOf(
      "% of the states",
      {builder.OfNetworks(
           is_game ? "positions whose value the move keeps" : "solved by the search", kColours[0],
           [](const SolveFigures& f) { return std::optional(InPercent(f.solve_rate())); }),
       builder.OfNetworks("solved by a shortest solution", kColours[2],
                          [](const SolveFigures& f) {
                            return IfKnown(f.known, [](const KnownLengthFigures& known) {
                              return InPercent(known.share_optimal());
                            });
                          }),
       builder.OfTraining("validation states solved during training", kColours[1],
                          [](const UpdatePoint& p) { return IfKnown(p.solve_rate, InPercent); })},
      Range{.least = 0, .most = 100});
}

Chart Lengths(const SeriesBuilder& builder, std::span<const EvaluatedNetwork> networks) {
  Chart chart = builder.ChartOf(
      "moves", {builder.OfNetworks(
                   "mean length of the solutions found", kColours[0], [](const SolveFigures& f) {
                     return f.solved > 0 && !f.is_game ? std::optional(f.mean_length)
                                                       : std::nullopt;
                   })});
  if (!networks.empty() && networks.front().figures.known) {
    chart.series.push_back(builder.Constant("mean length of the shortest solutions",
                                            networks.front().figures.known->mean_length));
  }
  return chart;
}

Chart Errors(const SeriesBuilder& builder) {
  return builder.ChartOf(
      "error of the estimates (root mean square)",
      {builder.OfNetworks("of the states, against optimal lengths", kColours[0],
                          [](const SolveFigures& f) {
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

std::string Escaped(std::string_view text) { return XmlEscaped(AsUtf8(text)); }

std::string Paragraph(const std::string& text, const char* style = "") {
  if (text.empty()) return "";
  return fmt::format("<p{}>{}</p>\n", style, Escaped(text));
}

std::string Note(const std::string& text) { return Paragraph(text, " class=\"note\""); }

std::string SectionHtml(const char* id, const char* title, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, title, body);
}

std::string Facts(const ReportPage& page) {
  std::string html = "<dl>\n";
  for (const auto& [name, value] : page.facts) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", Escaped(name), Escaped(value));
  }
  return html + "</dl>\n";
}

std::string Charts(const std::vector<Chart>& charts) {
  std::string html = "<div class=\"charts\">\n";
  for (const Chart& chart : charts) {
    if (chart.has_points()) html += ChartElement(chart);
  }
  return html + "</div>\n";
}

std::string Puzzle(const ReportPage& page) {
  const std::vector<SolvedPuzzle::Frame>& frames = page.puzzle.frames;
  if (frames.empty()) return Paragraph(page.puzzle_note);
  std::string html = Paragraph(page.puzzle.description) + "<div id=\"frames\">\n";
  for (std::size_t i = 0; i < frames.size(); ++i) {
    html += fmt::format("<figure{}>\n{}<figcaption>{}</figcaption></figure>\n",
                        i == 0 ? "" : " hidden", frames[i].svg, Escaped(frames[i].caption));
  }
  return html + fmt::format(
                    "</div>\n<div class=\"steps\"><button id=\"previous\">Previous</button>"
                    "<button id=\"next\">Next</button><button id=\"play\">Play</button>"
                    "<input id=\"at\" type=\"range\" min=\"0\" max=\"{}\" value=\"0\" "
                    "aria-label=\"move\"></div>\n<script>{}</script>\n",
                    frames.size() - 1, kScript);
}

}  // namespace

std::vector<Chart> LearningCharts(std::span<const UpdatePoint> training,
                                  std::span<const EvaluatedNetwork> networks) {
  const SeriesBuilder builder(training, networks);
  const bool is_game = !networks.empty() && networks.front().figures.is_game;
  return {SolveRates(builder, is_game), Lengths(builder, networks), Errors(builder),
          Losses(builder)};
}

std::string OverlapElement(const RunRecord& run, std::size_t updates) {
  const std::size_t shown = std::min(updates, run.trainings.size());
  if (shown == 0) return "";
  const std::size_t first = run.trainings.size() - shown;
  const double begin = std::min(run.fills[first].begin, run.trainings[first].begin);
  const double end = run.trainings.back().end;
  constexpr double kWidth = 1000;
  constexpr double kLeft = 90;  // of the bars
  constexpr double kBar = 16;
  constexpr double kStep = kBar + 4;
  Svg svg(kWidth, 3 * kStep);
  const Axis to_x(begin, end, kLeft, kWidth);
  double top = 0;
  for (const auto& [name, intervals, colour] :
       {std::tuple("generating", &run.fills, kGenerating),
        std::tuple("training", &run.trainings, kColours[0])}) {
    svg.Text({0, top + kBar - 3}, name);
    for (std::size_t i = first; i < intervals->size(); ++i) {
      const double from = std::max(kLeft, to_x((*intervals)[i].begin));
      const double to = std::min(kWidth, to_x((*intervals)[i].end));
      if (to > from) svg.Bar({from, top}, to - from, kBar, colour);
    }
    top += kStep;
  }
  svg.Text({kLeft, top + kBar - 3}, fmt::format("second {:.2f} of the run", begin));
  svg.Text({kWidth, top + kBar - 3}, fmt::format("{:.2f}", end), Anchor::kEnd);
  return svg.Element("when the last updates were generated and trained on");
}

double Overlap(const std::vector<Interval>& intervals, const Interval& window) {
  double seconds = 0;
  auto next = std::ranges::lower_bound(intervals, window.begin, {}, &Interval::end);
  for (; next != intervals.end() && next->begin < window.end; ++next) {
    seconds += std::min(next->end, window.end) - std::max(next->begin, window.begin);
  }
  return seconds;
}

Chart BusyChart(const RunRecord& run) {
  Series generating{.name = "generating", .colour = kGenerating, .stroke = kTraining};
  Series training{.name = "training", .colour = kColours[0], .stroke = kTraining};
  // Each point costs a look at all work in it, which may be all work of the run.
  const std::size_t step = (run.curve.size() + kMaxPoints - 1) / kMaxPoints;
  for (std::size_t i = 0; i < run.curve.size(); i += step) {
    const Interval update{.begin = i == 0 ? 0 : run.curve[i - 1].seconds,
                          .end = run.curve[i].seconds};
    const double seconds = update.end - update.begin;
    if (seconds <= 0) continue;
    const auto x = static_cast<double>(i + 1);
    generating.points.push_back({x, 100 * Overlap(run.fills, update) / seconds});
    training.points.push_back({x, 100 * Overlap(run.trainings, update) / seconds});
  }
  return {.name = "% of each update's time",
          .x_name = "updates",
          .across = {.least = 0, .most = static_cast<double>(run.curve.size())},
          .series = {std::move(generating), std::move(training)},
          .up = Range{.least = 0, .most = 100}};
}

std::vector<Chart> ValueCharts(const KnownLengthFigures& known) {
  Series estimates{.name = "mean estimate of the network", .points = {}};
  Series exact{.name = "exact",
               .colour = kReference,
               .stroke = kConstant,
               .dashes = kReferenceDashes,
               .points = {}};
  Series solved{.name = "solved by the search", .points = {}};
  Range across;
  for (const LengthFigures& each : known.by_length) {
    const auto length = static_cast<double>(each.length);
    across.Add(length);
    if (each.estimates) {
      estimates.points.push_back({length, each.estimates->mean});
      exact.points.push_back({length, length});
    }
    solved.points.push_back({length, 100 * each.solve_rate()});
  }
  const char* const lengths = "length of a shortest solution";
  return {{.name = "estimated length",
           .x_name = lengths,
           .across = across,
           .series = {std::move(exact), std::move(estimates)}},
          {.name = "% of the states of a length",
           .x_name = lengths,
           .across = across,
           .series = {std::move(solved)},
           .up = Range{.least = 0, .most = 100}}};
}

Chart ErrorChart(const RunRecord& run) {
  Series errors{.name = "last validation", .points = {}};
  Range across;
  for (const UpdatePoint& update : run.curve) {
    if (update.error_by_length.empty()) continue;
    errors.points.clear();
    for (const auto& [length, error] : update.error_by_length) {
      across.Add(static_cast<double>(length));
      errors.points.push_back({static_cast<double>(length), error});
    }
  }
  return {.name = "error of the estimates (root mean square)",
          .x_name = "length of the walk, or of a shortest solution if it is known",
          .across = across,
          .series = {std::move(errors)}};
}

std::string ReportHtml(const ReportPage& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{3}{4}{5}{6}{7}{8}"
      "</body>\n</html>\n",
      Escaped(page.title), kStyle, ChartStyle(), Facts(page), Paragraph(page.finding),
      SectionHtml("learning", "Learning", Charts(page.learning)),
      SectionHtml("values", "Estimates and known lengths",
                  Charts(page.values) + Note(page.values_note)),
      SectionHtml("overlap", "Overlap of generation and training",
                  Paragraph(page.bottleneck) + Charts({page.busy}) + page.overlap +
                      Note(page.overlap_note)),
      SectionHtml("puzzle", "A solved puzzle", Puzzle(page)));
}

}  // namespace tandem
