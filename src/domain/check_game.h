// The promises of games, beside those of all domains.
#pragma once

#include <string>
#include <vector>

#include "tandem/check_domain.h"
#include "tandem/game.h"

namespace tandem {

/// GamePromise is a promise of games and its check, which returns what breaks it, or "". `states`
/// are positions of random play.
struct GamePromise {
  std::string text;
  std::string (*check)(const GameDomain& game, ConstRows states);
};

/// The promises that CheckDomain checks of a game.
std::vector<GamePromise> GamePromises(const GameDomain& game);

}  // namespace tandem
