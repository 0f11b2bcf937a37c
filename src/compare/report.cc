#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compare/comparison.h"

namespace tandem {
namespace {

// One line of the table: a measure, and a function that formats its value.
struct Line {
  std::string name;
  std::function<std::string(const Row&)> cell;
};

std::string Cell(const Spread& spread, double scale, int digits) {
  const auto text = [&](double value) { return fmt::format("{:.{}f}", scale * value, digits); };
  if (spread.least == spread.most) return text(spread.median);
  return fmt::format("{} ({} to {})", text(spread.median), text(spread.least), text(spread.most));
}

std::string Cell(const std::optional<Spread>& spread, double scale, int digits) {
  return spread ? Cell(*spread, scale, digits) : "-";
}

std::vector<Line> Lines() {
  const auto value = [](auto measure, double scale, int digits) {
    return [=](const Row& row) { return Cell(row.*measure, scale, digits); };
  };
  return {{"updates/s", value(&Row::updates_per_s, 1, 3)},
          {"examples/s", value(&Row::examples_per_s, 1, 0)},
          {"s generating (critical path)", value(&Row::generate_critical_s, 1, 2)},
          {"s training (critical path)", value(&Row::train_critical_s, 1, 2)},
          {"% workers idle", value(&Row::idle_workers, 100, 1)},
          {"% main thread idle", value(&Row::idle_main, 100, 1)},
          {"% GPU idle", value(&Row::idle_gpu, 100, 1)},
          {"lag, updates", value(&Row::lag_updates, 1, 2)},
          {"final loss", value(&Row::final_loss, 1, 4)},
          {"% solved, equal iterations", value(&Row::solve_rate, 100, 1)},
          {"% solved, equal seconds", value(&Row::solve_rate_equal_time, 100, 1)},
          {"speed-up", value(&Row::speed_up, 1, 3)},
          {"ideal speed-up", value(&Row::ideal_speed_up, 1, 3)},
          {"ideal bound by",
           [](const Row& row) { return row.ideal_speed_up ? row.ideal_bound_by : "-"; }},
          {"% busiest side at work", value(&Row::busy, 100, 1)},
          {"busiest side", [](const Row& row) { return row.busiest; }},
          {"% of product rate", value(&Row::product_share, 100, 1)},
          {"weights as the first's",
           [](const Row& row) { return row.weights_equal_first ? "equal" : "differ"; }}};
}

constexpr double kUnlikely = 0.1;

// Returns "such a difference arises by chance in 25.0 % of cases".
std::string ByChance(double chance) {
  return fmt::format("such a difference arises by chance in {:.1f} % of cases", 100 * chance);
}

std::string Faster(const Row& row, std::size_t seeds) {
  std::string figures = fmt::format("{:.3f}x as fast", row.speed_up.median);
  if (seeds == 1) return figures;
  const std::string range =
      fmt::format("{:.3f} to {:.3f} over {} seeds; {}", row.speed_up.least, row.speed_up.most,
                  seeds, ByChance(row.speed_up_chance.value_or(1)));
  if (seeds >= kFewestSeeds && row.speed_up_chance > kUnlikely) {
    return fmt::format("no difference in speed shown ({})", range);
  }
  return fmt::format("{} ({})", figures, range);
}

std::string Better(const std::optional<Spread>& rate, const std::optional<Spread>& first,
                   std::optional<double> chance, const char* after, std::size_t seeds) {
  if (!rate || !first) return "";
  if (seeds > 1 && chance == 1.0) {
    return fmt::format("; after equal {} no difference in solve rate", after);
  }
  std::string figures = fmt::format("; after equal {} it solves {:.1f} % instead of {:.1f} %",
                                    after, 100 * rate->median, 100 * first->median);
  if (seeds == 1 || !chance) return figures;
  if (seeds >= kFewestSeeds && *chance > kUnlikely) {
    figures = fmt::format("; after equal {} no difference in solve rate shown", after);
  }
  return fmt::format("{} ({})", figures, ByChance(*chance));
}

std::string NoVerdict(std::size_t seeds) {
  if (seeds >= kFewestSeeds) return "";
  return fmt::format("; no verdict, because it takes at least {} seeds (--seeds)", kFewestSeeds);
}

nlohmann::ordered_json SpreadJson(const Spread& spread) {
  return {{"median", spread.median}, {"least", spread.least}, {"most", spread.most}};
}

nlohmann::ordered_json SpreadJson(const std::optional<Spread>& spread) {
  return spread ? SpreadJson(*spread) : nlohmann::ordered_json();
}

nlohmann::ordered_json NumberOrNull(std::optional<double> number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

}  // namespace

std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds) {
  std::vector<std::string> sentences;
  const Row& first = rows.front();
  for (const Row& row : rows.subspan(1)) {
    sentences.push_back(fmt::format(
        "{} against {}: {}{}{}{}", row.variant.name, first.variant.name, Faster(row, seeds),
        Better(row.solve_rate, first.solve_rate, row.solve_rate_chance, "iterations", seeds),
        Better(row.solve_rate_equal_time, first.solve_rate_equal_time,
               row.solve_rate_equal_time_chance, "seconds", seeds),
        NoVerdict(seeds)));
  }
  return sentences;
}

std::string TableText(std::span<const Row> rows) {
  const std::vector<Line> lines = Lines();
  std::size_t names = 0;
  for (const Line& line : lines) names = std::max(names, line.name.size());
  std::vector<std::string> text(lines.size() + 1, std::string(names, ' '));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text[i + 1] = fmt::format("{:<{}}", lines[i].name, names);
  }
  for (const Row& row : rows) {
    std::vector<std::string> column = {row.variant.name};
    for (const Line& line : lines) column.push_back(line.cell(row));
    const std::size_t width = std::ranges::max_element(column, {}, &std::string::size)->size();
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] += fmt::format("  {:>{}}", column[i], width);
    }
  }
  std::string table;
  for (const std::string& line : text) table += line + "\n";
  return table;
}

nlohmann::ordered_json ToJson(std::span<const Row> rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json varied = nlohmann::ordered_json::object();
    for (const auto& [key, value] : row.variant.varied) varied[key] = value;
    all.push_back(
        {{"name", row.variant.name},
         {"mode", row.variant.mode},
         {"varied", varied},
         {"updates_per_s", SpreadJson(row.updates_per_s)},
         {"examples_per_s", SpreadJson(row.examples_per_s)},
         {"generate_critical_s", SpreadJson(row.generate_critical_s)},
         {"train_critical_s", SpreadJson(row.train_critical_s)},
         {"idle_workers", SpreadJson(row.idle_workers)},
         {"idle_main", SpreadJson(row.idle_main)},
         {"idle_gpu", SpreadJson(row.idle_gpu)},
         {"lag_updates", SpreadJson(row.lag_updates)},
         {"final_loss", SpreadJson(row.final_loss)},
         {"solve_rate_equal_iterations", SpreadJson(row.solve_rate)},
         {"solve_rate_equal_seconds", SpreadJson(row.solve_rate_equal_time)},
         {"speed_up", SpreadJson(row.speed_up)},
         {"speed_up_chance", NumberOrNull(row.speed_up_chance)},
         {"solve_rate_equal_iterations_chance", NumberOrNull(row.solve_rate_chance)},
         {"solve_rate_equal_seconds_chance", NumberOrNull(row.solve_rate_equal_time_chance)},
         {"ideal_speed_up", SpreadJson(row.ideal_speed_up)},
         {"ideal_bound_by", row.ideal_bound_by},
         {"busy_share", SpreadJson(row.busy)},
         {"busiest_side", row.busiest},
         {"product_share", SpreadJson(row.product_share)},
         {"weights_equal_first", row.weights_equal_first}});
  }
  return all;
}

}  // namespace tandem
