#include "generate/action_draw.h"

#include "base/random.h"

namespace tandem {

Action DrawAction(const DomainSpec& spec, std::uint64_t seed, std::int64_t update,
                  std::int64_t row) {
  Random random(seed, Purpose::kAction, update, row);
  return static_cast<Action>(random.Below(static_cast<std::uint64_t>(spec.num_actions())));
}

std::vector<Action> DrawActions(const DomainSpec& spec, Head head, std::uint64_t seed,
                                std::int64_t update, std::int64_t first_row, std::size_t rows) {
  std::vector<Action> actions(TakesAction(head) ? rows : 0);
  for (Action& action : actions) action = DrawAction(spec, seed, update, first_row++);
  return actions;
}

}  // namespace tandem
