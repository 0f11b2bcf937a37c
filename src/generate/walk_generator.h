// Generators whose rows are the states along random walks, labelled by the walks themselves.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "domain/random_walks.h"

namespace tandem {

/// WalkRows says after how many actions of a random walk a row is taken from it. Global row r
/// belongs to walk r / rows_per_walk(). A walk of generate.max_scramble actions is cut into as many
/// parts as it has rows, of about equal lengths, and each row is the state after an action that is
/// drawn from its part. Rows of one walk are therefore in ascending order, and all depths are about
/// equally frequent.
///
/// States of one walk resemble each other, and a network that sees many of them learns the walk
/// rather than the puzzle. So generate.rows_per_walk takes few rows of a long walk (Agostinelli et
/// al. 2019, DeepCubeA, take one).
class WalkRows {
 public:
  explicit WalkRows(const Config& config)
      : seed_(config.random_seed()),
        length_(config.generate.max_scramble),
        rows_per_walk_(config.generate.rows_of_walk()) {}

  /// The number of actions of a walk.
  std::int64_t length() const { return length_; }

  std::int64_t rows_per_walk() const { return rows_per_walk_; }

  /// The number of actions, from 1 to length(), after which row `row` of an update is taken.
  std::int64_t Depth(std::int64_t update, std::int64_t row) const;

 private:
  const std::uint64_t seed_;
  const std::int64_t length_;
  const std::int64_t rows_per_walk_;
};

/// The kind of walks whose actions become labels: with distinct actions if all actions commute and
/// undo themselves, because any of them is then a first step of the way back. Throws InputError if
/// such a walk of generate.max_scramble actions would need more actions than there are.
WalkKind WalkKindOfActions(const Domain& domain, const GenerateConfig& config);

}  // namespace tandem
