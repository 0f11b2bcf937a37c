// A comparison as a table, as JSON and as a figure.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "report/comparison.h"

namespace tandem {

/// Fewest seeds for a verdict. Even if all of four seeds agree, chance alone makes them agree in
/// one of eight cases.
inline constexpr std::size_t kMinSeeds = 5;

/// Fewest seeds with which chance alone can be less likely than 5 %.
inline constexpr std::size_t kEnoughSeeds = 6;

/// Returns a sentence for each row after the first: how it differs from the first in speed and in
/// solve rate, and how often chance alone makes such a difference. If chance does so in more than
/// 10 % of cases, the sentence says that no difference was shown. The last sentence sums up: which
/// row is best in what, and why. Returns nothing for a single row.
std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds);

/// Returns a sentence for each reason why cells of the table are `-`, and one about the losses if
/// those of the rows cannot be compared (`losses_compare` is false).
std::vector<std::string> Notes(std::span<const Row> rows, bool losses_compare);

/// Returns the table as text: a line for each measure, and a column for each row.
std::string TableText(std::span<const Row> rows);

nlohmann::ordered_json ToJson(std::span<const Row> rows);

/// Returns an SVG with four parts: the solve rate over iterations; the solve rate over seconds; a
/// legend, which names curves that coincide; and a timeline of the generator and the main thread in
/// the first updates of the first seed. If no run was validated, shows the loss instead of the
/// solve rate. Requires at least one variant with runs, and the same number of runs of each.
std::string Figure(std::span<const VariantRuns> variants, const std::string& title);

}  // namespace tandem
