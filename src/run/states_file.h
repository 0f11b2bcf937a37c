// The states that a user wants solved.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// One line of the file. Where it cannot be read, `error` says why and `state` is empty.
struct Problem {
  nlohmann::json id;  ///< as given, or the number of the line
  std::string text;   ///< the state as it was written
  std::vector<std::uint8_t> state;
  std::optional<int> optimal;
  std::string error;
};

/// Reads JSON lines with `id`, `state` and `optimal`, or one state a line in plain text; blank
/// lines and lines that begin with '#' are skipped. States that may have several lines (Sokoban)
/// are parted by blank lines in plain text; lines that begin with ';' are skipped. At most `limit`
/// states. Throws InputError if the file cannot be read or holds no state.
std::vector<Problem> ReadStates(const std::filesystem::path& path, const Domain& domain,
                                std::optional<std::int64_t> limit);

}  // namespace tandem
