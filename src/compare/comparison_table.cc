#include "compare/comparison_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "compare/text_table.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

// One measure of a row: an entry of the JSON and, if it has a name, a line of the table.
struct Entry {
  std::string name;  // "": not in the table
  std::string key;   // in the JSON
  std::function<std::string(const Row&)> cell;
  std::function<Json(const Row&)> json;
  std::string why_missing = {};  // why a cell may be `-`
};

constexpr const char* kMissing = "-";
constexpr const char* kLoss = "final loss";

std::string Cell(const Spread& spread, double scale, int digits) {
  const auto text = [&](double value) { return fmt::format("{:.{}f}", scale * value, digits); };
  if (spread.least == spread.most) return text(spread.median);
  return fmt::format("{} ({} to {})", text(spread.median), text(spread.least), text(spread.most));
}

std::string Cell(const std::optional<Spread>& spread, double scale, int digits) {
  return spread ? Cell(*spread, scale, digits) : kMissing;
}

Json ToJson(const Spread& spread) {
  return {{"median", spread.median}, {"least", spread.least}, {"most", spread.most}};
}
Json ToJson(double number) { return number; }
template <class Value>
Json ToJson(const std::optional<Value>& value) {
  return value ? ToJson(*value) : Json();
}

// Returns every measure, in the order of the table and of the JSON.
std::vector<Entry> Entries() {
  const auto spread = [](const char* name, const char* key, auto of, double scale, int digits,
                         const char* why_missing = "") {
    return Entry{name, key, [=](const Row& row) { return Cell(row.*of, scale, digits); },
                 [=](const Row& row) { return ToJson(row.*of); }, why_missing};
  };
  const char* const only_async =
      "only async rows beside a sequential row of the same settings have one";
  const auto chance = [](const char* key, auto of) {
    return Entry{"", key, {}, [=](const Row& row) { return ToJson(row.*of); }};
  };
  return {
      spread("updates/s", "updates_per_s", &Row::updates_per_s, 1, 3),
      spread("examples/s", "examples_per_s", &Row::examples_per_s, 1, 0),
      spread("s generating (critical path)", "generate_critical_s", &Row::generate_critical_s, 1,
             2),
      spread("s training (critical path)", "train_critical_s", &Row::train_critical_s, 1, 2),
      spread("% workers idle", "idle_workers", &Row::idle_workers, 100, 1),
      spread("% main thread idle", "idle_main", &Row::idle_main, 100, 1),
      spread("% GPU idle", "idle_gpu", &Row::idle_gpu, 100, 1,
             "only traced updates on a GPU show it (--set profile.trace_updates=5 "
             "--set profile.trace_from=1)"),
      spread("lag, updates", "lag_updates", &Row::lag_updates, 1, 2),
      spread(kLoss, "final_loss", &Row::final_loss, 1, 4),
      spread("% solved, equal iterations", "solve_rate_equal_iterations", &Row::solve_rate, 100, 1,
             "a run was not validated (validation.every_updates)"),
      spread("% solved, equal seconds", "solve_rate_equal_seconds", &Row::solve_rate_equal_time,
             100, 1,
             "a run had no validation before the first run of its seed ended; lower "
             "validation.every_updates"),
      spread("speed-up", "speed_up", &Row::speed_up, 1, 3),
      chance("speed_up_chance", &Row::speed_up_chance),
      chance("solve_rate_equal_iterations_chance", &Row::solve_rate_chance),
      chance("solve_rate_equal_seconds_chance", &Row::solve_rate_equal_time_chance),
      spread("ideal speed-up", "ideal_speed_up", &Row::ideal_speed_up, 1, 3, only_async),
      {"ideal bound by", "ideal_bound_by",
       [](const Row& row) { return row.ideal_speed_up ? row.ideal_bound_by : kMissing; },
       [](const Row& row) { return row.ideal_bound_by; }, only_async},
      spread("% busiest side at work", "busy_share", &Row::busy, 100, 1),
      {"busiest side", "busiest_side", [](const Row& row) { return row.busiest; },
       [](const Row& row) { return row.busiest; }},
      {"weights as the first's", "weights_equal_first",
       [](const Row& row) { return row.weights_equal_first ? "equal" : "differ"; },
       [](const Row& row) { return row.weights_equal_first; }},
  };
}

constexpr double kUnlikely = 0.1;

// Returns the probability with which chance alone makes the differences of all seeds agree.
double LeastChance(std::size_t seeds) { return std::ldexp(2, -static_cast<int>(seeds)); }

// Returns "such a difference arises by chance in 25.0 % of cases".
std::string DescribeChance(double chance, std::size_t seeds) {
  const bool is_least = seeds < kEnoughSeeds && chance <= LeastChance(seeds);
  return fmt::format("such a difference arises by chance in {:.1f} % of cases{}", 100 * chance,
                     is_least ? fmt::format(", the least possible with {} seeds", seeds) : "");
}

std::string DescribeSpeed(const Row& row, std::size_t seeds) {
  std::string sentence = fmt::format("{:.3f}x as fast", row.speed_up.median);
  if (seeds == 1) return sentence;
  const std::string range =
      fmt::format("{:.3f} to {:.3f} over {} seeds; {}", row.speed_up.least, row.speed_up.most,
                  seeds, DescribeChance(row.speed_up_chance.value_or(1), seeds));
  if (seeds >= kMinSeeds && row.speed_up_chance > kUnlikely) {
    return fmt::format("no difference in speed shown ({})", range);
  }
  return fmt::format("{} ({})", sentence, range);
}

std::string DescribeSolveRate(const std::optional<Spread>& rate, const std::optional<Spread>& first,
                              std::optional<double> chance, const char* after, std::size_t seeds) {
  if (!rate || !first) return "";
  if (seeds > 1 && chance == 1.0) {
    return fmt::format("; after equal {} no difference in solve rate", after);
  }
  std::string sentence = fmt::format("; after equal {} it solves {:.1f} % instead of {:.1f} %",
                                     after, 100 * rate->median, 100 * first->median);
  if (seeds == 1 || !chance) return sentence;
  if (seeds >= kMinSeeds && *chance > kUnlikely) {
    sentence = fmt::format("; after equal {} no difference in solve rate shown", after);
  }
  return fmt::format("{} ({})", sentence, DescribeChance(*chance, seeds));
}

// Says how many seeds it takes to be surer.
std::string MoreSeeds(std::size_t seeds) {
  if (seeds >= kEnoughSeeds) return "";
  const std::string enough =
      fmt::format("{} seeds can show {:.1f} %", kEnoughSeeds, 100 * LeastChance(kEnoughSeeds));
  if (seeds == kMinSeeds) return "; " + enough;
  return fmt::format("; no verdict, because it takes at least {} seeds (--seeds); {}", kMinSeeds,
                     enough);
}

// Says which row has the highest median of `value`, as "async is fastest", or that no difference
// was shown. `what` names the measure. Returns "" if a row does not have it.
template <class Value>
std::string DescribeBest(std::span<const Row> rows, std::size_t seeds, const Value& value,
                         std::optional<double> Row::*chance, const char* wins, const char* what,
                         const std::function<std::string(const Row&)>& why) {
  const Row* best = &rows.front();
  bool differ = false;
  for (const Row& row : rows) {
    const std::optional<Spread> spread = value(row);
    if (!spread) return "";
    const double most = value(*best)->median;
    differ = differ || spread->median != most;
    if (spread->median > most) best = &row;
  }
  const auto is_unlikely = [&](const Row& row) { return (row.*chance).value_or(1) <= kUnlikely; };
  const bool is_shown = best == &rows.front() ? std::ranges::any_of(rows.subspan(1), is_unlikely)
                                              : is_unlikely(*best);
  if (!differ || (seeds >= kMinSeeds && !is_shown)) {
    return fmt::format("no difference in {} is shown", what);
  }
  return fmt::format("{} {}{}", best->variant.name, wins, why(*best));
}

// Says which row is best in what. Modes are best for known reasons, unless all rows have one mode.
std::string SumUp(std::span<const Row> rows, std::size_t seeds) {
  const auto is = [](const char* mode) {
    return [mode](const Row& row) { return row.variant.mode == mode; };
  };
  const bool modes_differ = std::ranges::any_of(
      rows, [&](const Row& row) { return row.variant.mode != rows.front().variant.mode; });
  const auto why_fast = [&](const Row& best) {
    std::string why;
    if (!modes_differ) return why;
    if (best.variant.mode == "async") why = ", because it generates while it trains";
    if (best.variant.mode != "sync_main" && std::ranges::any_of(rows, is("sync_main"))) {
      why += "; sync_main is slower, because its main thread also evaluates for the searches";
    }
    return why;
  };
  const auto why_learned = [&](const Row& best) -> std::string {
    return modes_differ && best.variant.mode == "sync_main"
               ? ", because its searches ask the newest network"
               : "";
  };
  std::vector<std::string> parts = {
      DescribeBest(
          rows, seeds, [](const Row& row) { return std::optional(row.speed_up); },
          &Row::speed_up_chance, "is fastest", "speed", why_fast),
      DescribeBest(
          rows, seeds, [](const Row& row) { return row.solve_rate; }, &Row::solve_rate_chance,
          "solves most after equal iterations", "solve rates after equal iterations", why_learned),
      DescribeBest(
          rows, seeds, [](const Row& row) { return row.solve_rate_equal_time; },
          &Row::solve_rate_equal_time_chance, "solves most after equal seconds",
          "solve rates after equal seconds", [](const Row& /*best*/) { return ""; })};
  std::erase(parts, "");
  return fmt::format("in short: {}{}", fmt::join(parts, "; "),
                     seeds < kMinSeeds ? "; all of this may be chance" : "");
}

}  // namespace

std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds) {
  std::vector<std::string> sentences;
  const Row& first = rows.front();
  for (const Row& row : rows.subspan(1)) {
    sentences.push_back(fmt::format(
        "{} against {}: {}{}{}{}", row.variant.name, first.variant.name, DescribeSpeed(row, seeds),
        DescribeSolveRate(row.solve_rate, first.solve_rate, row.solve_rate_chance, "iterations",
                          seeds),
        DescribeSolveRate(row.solve_rate_equal_time, first.solve_rate_equal_time,
                          row.solve_rate_equal_time_chance, "seconds", seeds),
        MoreSeeds(seeds)));
  }
  if (rows.size() > 1) sentences.push_back(SumUp(rows, seeds));
  return sentences;
}

std::vector<std::string> Notes(std::span<const Row> rows, bool losses_compare) {
  std::vector<std::pair<std::string, std::string>> missing;  // reason, names of measures
  for (const Entry& entry : Entries()) {
    const auto is_missing = [&](const Row& row) { return entry.cell(row) == kMissing; };
    if (entry.name.empty() || std::ranges::none_of(rows, is_missing)) continue;
    if (missing.empty() || missing.back().first != entry.why_missing) {
      missing.emplace_back(entry.why_missing, entry.name);
    } else {
      missing.back().second += "`, `" + entry.name;
    }
  }
  std::vector<std::string> notes;
  notes.reserve(missing.size() + 1);
  for (const auto& [why, names] : missing) {
    notes.push_back(fmt::format("`-` in `{}`: {}", names, why));
  }
  if (!losses_compare) {
    notes.push_back(fmt::format(
        "`{}` cannot be compared: the targets or losses differ, or targets grow with the network",
        kLoss));
  }
  return notes;
}

std::string TableText(std::span<const Row> rows) {
  std::vector<Entry> lines = Entries();
  std::erase_if(lines, [](const Entry& entry) { return entry.name.empty(); });
  std::vector<std::vector<std::string>> columns(1);
  columns.front().emplace_back();  // above the names of the measures
  for (const Entry& line : lines) columns.front().push_back(line.name);
  for (const Row& row : rows) {
    std::vector<std::string>& column = columns.emplace_back();
    column.push_back(row.variant.name);
    for (const Entry& line : lines) column.push_back(line.cell(row));
  }
  return TextTable(columns);
}

nlohmann::ordered_json ToJson(std::span<const Row> rows) {
  Json all = Json::array();
  for (const Row& row : rows) {
    Json varied = Json::object();
    for (const auto& [key, value] : row.variant.varied) varied[key] = value;
    Json json = {{"name", row.variant.name},
                 {"mode", row.variant.mode},
                 {"ranks", row.variant.ranks},
                 {"varied", varied}};
    for (const Entry& entry : Entries()) json[entry.key] = entry.json(row);
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace tandem
