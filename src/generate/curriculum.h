// Scrambles that become longer as the network learns to solve them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/config.h"

namespace tandem {

/// SolvedByLength counts searches, and those that reached a goal, by the length of their scrambles.
class SolvedByLength {
 public:
  void Add(std::int64_t length, bool solved);

  /// Returns the share that reached a goal: the mean of the shares of all lengths that have a
  /// search. Each length counts the same, however many searches it has. Nothing without a search.
  std::optional<double> MeanShare() const;

 private:
  struct Count {
    std::int64_t searches = 0;
    std::int64_t solved = 0;
  };
  std::vector<Count> counts_;  // at [length]
};

/// Curriculum decides how long the scrambles of the next fill may be. With generate.curriculum, the
/// longest has one action at first. It doubles, up to generate.max_scramble, after each fill whose
/// searches solved at least half of their scrambles (SolvedByLength::MeanShare). Lengths are
/// uniform from 0 to the longest. The rule is that of DeepXube 0.3.2 (option --bal).
///
/// The longest scramble of a fill depends only on earlier fills, so a run stays a function of its
/// config.
class Curriculum {
 public:
  /// Goes on from `reached`, which is 1 in a new run and reached() of the previous object in a run
  /// that was resumed.
  Curriculum(const GenerateConfig& config, std::int64_t reached)
      : is_on_(config.curriculum),
        max_(config.max_scramble),
        reached_(is_on_ ? std::min(reached, max_) : reached) {}

  /// Returns the length of the longest scramble of the next fill. Nothing without
  /// generate.curriculum: all lengths up to generate.max_scramble are allowed.
  std::optional<std::int64_t> longest_scramble() const {
    return is_on_ ? std::optional(reached_) : std::nullopt;
  }

  /// Call after each fill, and before the next one starts, with Generator::searches_solved().
  void FillEnds(std::optional<double> searches_solved);

  /// Returns the length that the curriculum has reached.
  std::int64_t reached() const { return reached_; }

 private:
  bool is_on_;
  std::int64_t max_;
  std::int64_t reached_;
};

}  // namespace tandem
