// Which runs a comparison makes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/load.h"

namespace tandem {

/// Variation is one `--vary KEY=V1,V2`: runs are made with each value of the key.
struct Variation {
  std::string key;
  std::vector<std::string> values;  ///< at least two, all different
};

/// Parses "KEY=V1,V2". Throws InputError that says what was expected.
Variation ParseVariation(std::string_view text);

/// Variant is one row of a comparison: a mode and the values of varied keys. It runs once per
/// seed.
struct Variant {
  std::string name;  ///< name of the row: "async", "async prefetch.depth=4"
  std::string mode;
  std::vector<std::pair<std::string, std::string>> varied;  ///< key and value
  int ranks = 1;                                            ///< processes that train together
  bool aligned_lag = false;  ///< sequential with the policy lag of async, 1

  /// Returns the overrides for `tandem train`.
  std::vector<Override> Overrides() const;

  /// Returns the name as a folder name, with only letters, digits, '.', '-' and '='.
  std::string FolderName() const;
};

/// Parses the numbers of `--ranks`, such as "1,2". Throws InputError that says what was expected,
/// or that a number comes twice.
std::vector<int> ParseRanks(std::string_view text);

/// Parses the numbers of `--seeds`, such as "1,2", and returns each as the shortest text: "1" for
/// "01". Throws InputError that says what was expected, or that a number comes twice.
std::vector<std::string> ParseSeeds(std::string_view text);

/// Returns every combination of modes, numbers of ranks and varied values. Modes vary fastest.
std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations,
                                  std::span<const int> ranks);

}  // namespace tandem
