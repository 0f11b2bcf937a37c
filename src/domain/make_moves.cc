#include "domain/make_moves.h"

#include <fmt/format.h>

#include <cstddef>

#include "tandem/error.h"

namespace tandem {

std::vector<Action> MakeMoves(const Domain& domain, std::string_view moves, std::string_view start,
                              std::span<std::uint8_t> state) {
  std::vector<Action> actions = domain.ParseMoves(moves, start);
  std::vector<std::uint8_t> applies(static_cast<std::size_t>(domain.spec().num_actions()));
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::span action(&actions[i], 1);
    domain.Mask(ConstRows(std::span<const std::uint8_t>(state)), applies);
    if (applies[actions[i]] == 0) {
      throw InputError(fmt::format(
          "move {}, {}, does not apply{}", i + 1,
          start.empty() ? FormatActions(domain.spec(), action) : domain.FormatMoves(action, start),
          domain.spec().multiline_states
              ? ""
              : fmt::format(" in the state {}", domain.FormatState(state))));
    }
    domain.Apply(Rows(state), action);
  }
  return actions;
}

}  // namespace tandem
