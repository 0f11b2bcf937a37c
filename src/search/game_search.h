// The search of `tandem solve` in games of two players.
#pragma once

#include <memory>

#include "config/config.h"
#include "search/search.h"
#include "tandem/game.h"

namespace tandem {

/// Makes the search of search.method gumbel or puct. From each position, it plays for both players
/// until the game is over or has search.max_length more moves. A result then counts as solved. The
/// first move is the best one that the search found, and the others are its answer to each. The
/// `best` of every result has the first move alone; its estimate is the search's value of the
/// position as a cost. All games advance in lock step.
///
/// Throws InputError if `domain` is not a game, and Error if the network has no policy and values.
std::unique_ptr<Search> MakeGameSearch(const Domain& domain, Evaluator& network,
                                       const Config& config);

/// Throws InputError if `domain` is a game. `key` and its value `name` select a method for puzzles,
/// and `instead` says what to set for games.
void CheckIsPuzzle(const Domain& domain, std::string_view key, std::string_view name,
                   std::string_view instead);

/// Returns `domain` as a game. Throws InputError if it is a puzzle. `key` and its value `name`
/// select a method for games.
const GameDomain& RequireGame(const Domain& domain, std::string_view key, std::string_view name);

}  // namespace tandem
