#include "report/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

template <class Part, class Whole>
double Share(Part part, Whole whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<EstimateFigures> EstimatesOf(std::span<const SolveOutcome> outcomes) {
  std::int64_t estimated = 0;
  double estimates = 0;
  double squared_errors = 0;
  for (const SolveOutcome& outcome : outcomes) {
    if (!outcome.estimate) continue;
    ++estimated;
    estimates += *outcome.estimate;
    const double error = *outcome.estimate - outcome.cost;
    squared_errors += error * error;
  }
  if (estimated == 0) return std::nullopt;
  return EstimateFigures{.mean = Share(estimates, estimated),
                         .error = std::sqrt(Share(squared_errors, estimated))};
}

// Returns figures for each value of `number`, from the outcomes that have one.
std::vector<LengthFigures> SummariseBy(std::optional<std::int64_t> SolveOutcome::*number,
                                       std::span<const SolveOutcome> outcomes) {
  std::map<std::int64_t, std::vector<SolveOutcome>> by_number;
  for (const SolveOutcome& outcome : outcomes) {
    if (outcome.*number) by_number[*(outcome.*number)].push_back(outcome);
  }
  std::vector<LengthFigures> figures;
  figures.reserve(by_number.size());
  for (const auto& [length, of_length] : by_number) {
    figures.push_back({.length = length,
                       .states = std::ssize(of_length),
                       .solved = std::ranges::count(of_length, true, &SolveOutcome::solved),
                       .estimates = EstimatesOf(of_length)});
  }
  return figures;
}

std::optional<KnownLengthFigures> SummariseKnown(std::span<const SolveOutcome> outcomes) {
  KnownLengthFigures known;
  std::vector<SolveOutcome> all;
  for (const SolveOutcome& outcome : outcomes) {
    if (!outcome.optimal) continue;
    all.push_back(outcome);
    known.mean_length += static_cast<double>(*outcome.optimal);
    if (outcome.solved && outcome.length == *outcome.optimal) ++known.optimal;
  }
  if (all.empty()) return std::nullopt;
  known.states = std::ssize(all);
  known.mean_length /= static_cast<double>(known.states);
  known.estimates = EstimatesOf(all);
  known.by_length = SummariseBy(&SolveOutcome::optimal, all);
  return known;
}

std::optional<BestKnownFigures> SummariseBestKnown(std::span<const SolveOutcome> outcomes) {
  BestKnownFigures figures;
  double ratios = 0;
  for (const SolveOutcome& outcome : outcomes) {
    if (!outcome.solved || outcome.best_known.value_or(0) == 0) continue;
    ++figures.states;
    ratios += Share(outcome.length, *outcome.best_known);
  }
  if (figures.states == 0) return std::nullopt;
  figures.mean_ratio = Share(ratios, figures.states);
  return figures;
}

using Json = nlohmann::ordered_json;

constexpr const char* kNoFigure = "-";

// Table has a line for each item.
template <class Item>
class Table {
 public:
  explicit Table(std::span<const Item> items) : items_(items) {}

  // Adds a column. `cell` returns the text of an item.
  template <class Cell>
  void Add(const char* heading, const Cell& cell) {
    std::vector<std::string>& column = columns_.emplace_back(1, heading);
    for (const Item& item : items_) column.push_back(cell(item));
  }

  // Adds a column unless it is missing for all items. `cell` returns a number, or nothing.
  template <class Cell>
  void AddIfKnown(const char* heading, int digits, const Cell& cell) {
    const auto is_known = [&](const Item& item) { return cell(item).has_value(); };
    if (std::ranges::none_of(items_, is_known)) return;
    Add(heading, [&](const Item& item) {
      const std::optional<double> number = cell(item);
      return number ? fmt::format("{:.{}f}", *number, digits) : kNoFigure;
    });
  }

  std::string Text() const { return TextTable(columns_); }

 private:
  const std::span<const Item> items_;
  std::vector<std::vector<std::string>> columns_;
};

std::string Percent(double share) { return fmt::format("{:.1f}", 100 * share); }

using ReadJson = nlohmann::json;  // finds names of a hostile file faster

using Count = std::int64_t;

// Reads figures from the list `name`. `number` is the entry for LengthFigures::length.
std::vector<LengthFigures> LengthsIn(const ReadJson& json, const char* name, const char* number) {
  std::vector<LengthFigures> figures;
  for (const ReadJson& each : ReadList(json, name)) {
    figures.push_back({.length = ReadEntry<Count>(each, number),
                       .states = ReadEntry<Count>(each, "states"),
                       .solved = ReadEntry<Count>(each, "solved"),
                       .estimates = {}});
    if (const auto mean = FindEntry<double>(each, "mean_estimate")) {
      figures.back().estimates = {.mean = *mean, .error = ReadEntry<double>(each, "value_error")};
    }
  }
  return figures;
}

KnownLengthFigures KnownOf(const ReadJson& json) {
  KnownLengthFigures known{.states = ReadEntry<Count>(json, "with_optimal"),
                           .optimal = ReadEntry<Count>(json, "optimal"),
                           .mean_length = ReadEntry<double>(json, "mean_optimal"),
                           .estimates = {},
                           .by_length = LengthsIn(json, "by_length", "length")};
  if (const auto error = FindEntry<double>(json, "value_error")) {
    double sum = 0;  // of the estimates of all states
    for (const LengthFigures& each : known.by_length) {
      if (each.estimates) sum += static_cast<double>(each.states) * each.estimates->mean;
    }
    known.estimates = EstimateFigures{.mean = Share(sum, known.states), .error = *error};
  }
  return known;
}

EvaluatedNetwork NetworkOf(const ReadJson& json) {
  EvaluatedNetwork network;
  network.name = ReadEntry<std::string>(json, "name");
  network.file = FindEntry<std::string>(json, "file").value_or("");
  network.iterations = ReadEntry<Count>(json, "iterations");
  network.examples = FindEntry<Count>(json, "examples");
  network.trained_s = FindEntry<double>(json, "trained_s");
  SolveFigures& figures = network.figures;
  figures.states = ReadEntry<Count>(json, "states");
  figures.solved = ReadEntry<Count>(json, "solved");
  figures.mean_length = FindEntry<double>(json, "mean_length").value_or(0);
  figures.nodes = ReadEntry<Count>(json, "nodes");
  figures.seconds = ReadEntry<double>(json, "seconds");
  figures.slowest_s = ReadEntry<double>(json, "slowest_s");
  if (json.contains("with_best_known")) {
    figures.best_known =
        BestKnownFigures{.states = ReadEntry<Count>(json, "with_best_known"),
                         .mean_ratio = ReadEntry<double>(json, "mean_ratio_to_best_known")};
  }
  if (json.contains("with_optimal")) figures.known = KnownOf(json);
  figures.is_game = json.contains("by_stones");
  if (figures.is_game) figures.by_stones = LengthsIn(json, "by_stones", "stones");
  return network;
}

// Reads the entries of the file. Errors do not name it.
EvaluationFile EvaluationOf(const ReadJson& json) {
  EvaluationFile evaluation{.states = ReadEntry<std::string>(json, "states"),
                            .search = ReadEntry<std::string>(json, "search"),
                            .networks = {},
                            .best = {}};
  const std::optional<std::string> best = FindEntry<std::string>(json, "best");
  for (const ReadJson& network : ReadList(json, "networks")) {
    evaluation.networks.push_back(NetworkOf(network));
    if (best == evaluation.networks.back().name) {
      evaluation.best = evaluation.networks.size() - 1;
    }
  }
  return evaluation;
}

}  // namespace

double LengthFigures::solve_rate() const { return Share(solved, states); }
double KnownLengthFigures::share_optimal() const { return Share(optimal, states); }
double SolveFigures::solve_rate() const { return Share(solved, states); }
double SolveFigures::nodes_per_s() const {
  return seconds > 0 ? static_cast<double>(nodes) / seconds : 0.0;
}
double SolveFigures::mean_s() const { return Share(seconds, states); }

SolveFigures Summarise(std::span<const SolveOutcome> outcomes, double seconds) {
  SolveFigures figures{.states = std::ssize(outcomes), .seconds = seconds, .known = {}};
  double lengths = 0;
  for (const SolveOutcome& outcome : outcomes) {
    figures.nodes += outcome.nodes;
    figures.slowest_s = std::max(figures.slowest_s, outcome.seconds);
    if (!outcome.solved) continue;
    ++figures.solved;
    lengths += static_cast<double>(outcome.length);
  }
  figures.mean_length = Share(lengths, figures.solved);
  figures.known = SummariseKnown(outcomes);
  figures.best_known = SummariseBestKnown(outcomes);
  figures.by_stones = SummariseBy(&SolveOutcome::stones, outcomes);
  return figures;
}

bool SolvesBetter(const SolveFigures& figures, const SolveFigures& than) {
  const auto key = [](const SolveFigures& f) {
    return std::tuple(f.solved, -f.mean_length, -f.nodes);
  };
  return key(figures) > key(than);
}

std::optional<std::size_t> BestBySolving(std::span<const EvaluatedNetwork> networks) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    if (!networks[i].complete) continue;
    if (!best || SolvesBetter(networks[i].figures, networks[*best].figures)) best = i;
  }
  return best;
}

std::string EvaluationTable(std::span<const EvaluatedNetwork> networks) {
  using Network = EvaluatedNetwork;
  Table<Network> table(networks);
  table.Add("network", [](const Network& n) { return n.name + (n.complete ? "" : " (stopped)"); });
  table.Add("iterations", [](const Network& n) { return WithThousands(n.iterations); });
  const bool is_game = networks.front().figures.is_game;
  table.Add(is_game ? "kept" : "solved", [](const Network& n) {
    return fmt::format("{} of {}", n.figures.solved, n.figures.states);
  });
  table.Add("%", [](const Network& n) { return Percent(n.figures.solve_rate()); });
  if (!is_game) {
    table.Add("mean length", [](const Network& n) {
      return n.figures.solved > 0 ? fmt::format("{:.2f}", n.figures.mean_length) : kNoFigure;
    });
  }
  table.AddIfKnown("% optimal", 1, [](const Network& n) {
    return IfKnown(n.figures.known, [](const auto& k) { return 100 * k.share_optimal(); });
  });
  table.AddIfKnown("value error", 2, [](const Network& n) {
    return n.figures.known ? IfKnown(n.figures.known->estimates, &EstimateFigures::error)
                           : std::nullopt;
  });
  table.AddIfKnown("x best known", 3, [](const Network& n) {
    return IfKnown(n.figures.best_known, &BestKnownFigures::mean_ratio);
  });
  table.Add("nodes", [](const Network& n) { return WithThousands(n.figures.nodes); });
  table.Add("nodes/s",
            [](const Network& n) { return WithThousands(std::llround(n.figures.nodes_per_s())); });
  table.Add("mean s", [](const Network& n) { return fmt::format("{:.3f}", n.figures.mean_s()); });
  table.Add("slowest s",
            [](const Network& n) { return fmt::format("{:.3f}", n.figures.slowest_s); });
  return table.Text();
}

std::string ByLengthTable(const SolveFigures& figures) {
  using Length = LengthFigures;
  const bool is_game = figures.is_game;
  if (is_game ? figures.by_stones.empty() : !figures.known) return "";
  Table<Length> table(is_game ? figures.by_stones : figures.known->by_length);
  table.Add(is_game ? "stones" : "optimal length",
            [](const Length& l) { return std::to_string(l.length); });
  table.Add("states", [](const Length& l) { return std::to_string(l.states); });
  table.Add(is_game ? "% kept" : "% solved",
            [](const Length& l) { return Percent(l.solve_rate()); });
  table.AddIfKnown("mean estimate", 2,
                   [](const Length& l) { return IfKnown(l.estimates, &EstimateFigures::mean); });
  table.AddIfKnown("value error", 2,
                   [](const Length& l) { return IfKnown(l.estimates, &EstimateFigures::error); });
  return table.Text();
}

Json ToJson(const EvaluatedNetwork& network) {
  const SolveFigures& figures = network.figures;
  Json json = {
      {"name", network.name},
      {"file", network.file.empty() ? Json() : Json(network.file.string())},
      {"iterations", network.iterations},
      {"examples", network.examples ? Json(*network.examples) : Json()},
      {"trained_s", network.trained_s ? Json(RoundedSeconds(*network.trained_s)) : Json()},
      {"states", figures.states},
      {"solved", figures.solved},
      {"solve_rate", RoundedReal(figures.solve_rate())},
      {"mean_length",
       figures.solved > 0 && !figures.is_game ? Json(RoundedReal(figures.mean_length)) : Json()},
      {"nodes", figures.nodes},
      {"nodes_per_s", RoundedReal(figures.nodes_per_s())},
      {"seconds", RoundedSeconds(figures.seconds)},
      {"mean_s", RoundedSeconds(figures.mean_s())},
      {"slowest_s", RoundedSeconds(figures.slowest_s)}};
  if (figures.best_known) {
    json["with_best_known"] = figures.best_known->states;
    json["mean_ratio_to_best_known"] = RoundedReal(figures.best_known->mean_ratio);
  }
  if (figures.is_game) json["by_stones"] = Json::array();
  for (const LengthFigures& each : figures.by_stones) {
    json["by_stones"].push_back(
        {{"stones", each.length}, {"states", each.states}, {"solved", each.solved}});
  }
  if (!figures.known) return json;
  const KnownLengthFigures& known = *figures.known;
  json["with_optimal"] = known.states;
  json["optimal"] = known.optimal;
  json["share_optimal"] = RoundedReal(known.share_optimal());
  json["mean_optimal"] = RoundedReal(known.mean_length);
  if (known.estimates) json["value_error"] = RoundedReal(known.estimates->error);
  for (const LengthFigures& each : known.by_length) {
    Json length = {{"length", each.length}, {"states", each.states}, {"solved", each.solved}};
    if (each.estimates) {
      length["mean_estimate"] = RoundedReal(each.estimates->mean);
      length["value_error"] = RoundedReal(each.estimates->error);
    }
    json["by_length"].push_back(std::move(length));
  }
  return json;
}

EvaluationFile ReadEvaluation(const std::filesystem::path& file) {
  const std::string text = ReadFile(file);
  const auto with_advice = [&](const auto& read) {
    try {
      return read();
    } catch (const InputError& error) {
      throw InputError(fmt::format(
          "{}: {}. Expected a file that `tandem evaluate --json` wrote; evaluate the run again.",
          file.string(), error.what()));
    }
  };
  const ReadJson json = with_advice([&] { return ParseJsonObject(text); });
  RequireKnownSchema(file.string(), json, kEvaluationSchema);
  return with_advice([&] { return EvaluationOf(json); });
}

}  // namespace tandem
