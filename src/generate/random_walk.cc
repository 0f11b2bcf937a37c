#include "generate/random_walk.h"

namespace tandem {

RandomWalk::RandomWalk(const Domain& domain, Random random, std::span<std::uint8_t> state)
    : domain_(domain), random_(random), state_(state) {
  domain_.WriteGoals(Rows(state_));
}

void RandomWalk::Step() {
  const DomainSpec& spec = domain_.spec();
  const auto num_actions = static_cast<std::uint64_t>(spec.num_actions());
  // A puzzle with a single action has no other way than back.
  const bool skip = forbidden_.has_value() && num_actions > 1;
  auto action = static_cast<Action>(random_.Below(skip ? num_actions - 1 : num_actions));
  if (skip && action >= *forbidden_) ++action;
  domain_.Apply(Rows(state_), {&action, 1});
  forbidden_ = spec.inverse_actions[action];
}

}  // namespace tandem
