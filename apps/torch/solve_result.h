// The results of solving states, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/evaluation.h"
#include "search/problems.h"
#include "search/search.h"
#include "tandem/domain.h"

namespace tandem {

/// SolveResult is the outcome of one line of the states file.
struct SolveResult {
  Problem line;
  SearchResult search;
  std::string error;  ///< why there is no solution; "" if there is one
};

/// Returns what the figures need of a search for a solution of `problem`. It has no estimate.
SolveOutcome OutcomeOf(const Problem& problem, const SearchResult& search);

/// Returns the JSON object of a result. docs/guide/solve.md lists its keys.
nlohmann::ordered_json ToJson(const SolveResult& result, const Domain& domain);

/// Describes a result in one line of text.
std::string DescribeResult(const SolveResult& result, const Domain& domain);

/// Summarises all results in a table of text. `seconds` is the wall time of all searches.
std::string DescribeResults(const std::vector<SolveResult>& results, double seconds);

}  // namespace tandem
