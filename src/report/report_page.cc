#include "report/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/text.h"

namespace tandem {
namespace {

constexpr const char* kGenerating = kColours[4];

// Colours are those of Svg, which draws the charts. A puzzle's picture comes with a white
// background, its first shape, which the page hides.
constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --text: #222; --back: #fff; --soft: #5b646e; --line: #dddddd;
  --card: #f6f8fa; --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --text: #d8dee4; --back: #0d1117; --soft: #9aa4af; --line: #30363d; --card: #161b22;
    --accent: #5b8def; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1080px; padding: 16px; color: var(--text);
  background: var(--back); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 8px 0 16px; }
h2 { font-size: 1.15rem; margin: 40px 0 8px; padding-top: 12px; border-top: 1px solid var(--line); }
p { margin: 8px 0; max-width: 70ch; }
.note { color: var(--soft); font-size: 0.9rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 8px;
  margin: 0 0 16px; }
dl div { background: var(--card); border-radius: 6px; padding: 8px 12px; }
dt { color: var(--soft); font-size: 0.8rem; }
dd { margin: 0; font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 360px), 1fr));
  gap: 20px 32px; }
#frames { background: var(--card); border-radius: 6px; padding: 12px; max-width: 640px; }
#frames svg { display: block; margin: 0 auto; width: auto; height: auto; max-width: 100%;
  max-height: 420px; }
#frames svg > rect:first-of-type { fill: none; }
figure { margin: 0; }
figcaption { text-align: center; margin-top: 8px; min-height: 1.5em; }
.steps { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; max-width: 640px;
  margin-top: 8px; }
.steps input { flex: 1 1 120px; accent-color: var(--accent); }
button { font: inherit; color: var(--text); background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; padding: 6px 14px; cursor: pointer; }
button:hover { border-color: var(--accent); }
)css";

constexpr std::string_view kScript = R"js(
const frames = [...document.querySelectorAll('#frames figure')];
const at = document.getElementById('at');
const play = document.getElementById('play');
let timer = null;
function show(index) {
  at.value = Math.max(0, Math.min(frames.length - 1, index));
  frames.forEach((frame, i) => { frame.hidden = i != at.value; });
}
function stop() {
  clearInterval(timer);
  timer = null;
  play.textContent = 'Play';
}
function step(by) {
  stop();
  show(Number(at.value) + by);
}
document.getElementById('previous').onclick = () => step(-1);
document.getElementById('next').onclick = () => step(1);
at.oninput = () => step(0);
play.onclick = () => {
  if (timer) return stop();
  if (at.value == frames.length - 1) show(0);
  play.textContent = 'Pause';
  timer = setInterval(() => {
    show(Number(at.value) + 1);
    if (at.value == frames.length - 1) stop();
  }, 700);
};
)js";

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
