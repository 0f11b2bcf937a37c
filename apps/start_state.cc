#include "apps/start_state.h"

#include "base/random.h"
#include "domain/random_walk.h"
#include "tandem/error.h"

namespace tandem {

std::vector<std::uint8_t> ReadState(const Domain& domain, const std::string& text) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  domain.ParseState(text, state);
  return state;
}

std::vector<std::uint8_t> RandomState(const Domain& domain, std::int64_t steps, std::uint64_t seed,
                                      std::uint64_t number) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  RandomWalk walk(domain, Random(seed, Purpose::kScramble, 0, number), state);
  for (std::int64_t i = 0; i < steps; ++i) walk.Step();
  return state;
}

void MakeMoves(const Domain& domain, const std::string& moves, std::vector<std::uint8_t>& state) {
  for (const Action action : ParseActions(domain.spec(), moves)) {
    domain.Apply(Rows(std::span(state)), {&action, 1});
  }
}

std::vector<std::uint8_t> StartState(const Domain& domain, const StartArgs& args) {
  if (!args.state.empty() && args.random > 0) {
    throw InputError("--random starts from a goal: expected no STATE with it");
  }
  std::vector<std::uint8_t> state = args.state.empty()
                                        ? RandomState(domain, args.random, args.seed, 0)
                                        : ReadState(domain, args.state);
  MakeMoves(domain, args.scramble, state);
  return state;
}

}  // namespace tandem
