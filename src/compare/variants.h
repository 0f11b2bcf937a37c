// The runs of a comparison: every mode with every value of every key that varies.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/load.h"

namespace tandem {

/// A `--vary KEY=V1,V2`: the key takes each value in turn.
struct Variation {
  std::string key;
  std::vector<std::string> values;  ///< at least two, all different
};

/// Splits "KEY=V1,V2". Throws InputError that says what was expected.
Variation ParseVariation(std::string_view text);

/// Splits "a,b,c". Throws InputError, naming `option`, if a part is empty or comes twice.
std::vector<std::string> SplitList(std::string_view text, std::string_view option);

/// What is measured under one row of the table, once for each seed.
struct Variant {
  std::string name;  ///< "async", "async prefetch.depth=4"; a row's name and, made safe, a folder's
  std::string mode;
  std::vector<std::pair<std::string, std::string>> varied;  ///< key and value
  bool aligned_lag = false;  ///< sequential with the policy lag of async, 1

  /// As `tandem train` takes them.
  std::vector<Override> Overrides() const;

  /// The name as that of a folder: letters, digits, '.', '-' and '='.
  std::string FolderName() const;
};

/// The product of the modes and all variations, the modes varying fastest.
std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations);

}  // namespace tandem
