// tandem show DOMAIN [STATE], tandem apply DOMAIN
#include <fmt/format.h>

#include "apps/commands.h"
#include "base/file.h"
#include "base/random.h"
#include "base/terminal.h"
#include "domain/random_walk.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using State = std::vector<std::uint8_t>;

State ReadState(const Domain& domain, const std::string& text) {
  State state(static_cast<std::size_t>(domain.spec().state_size));
  domain.ParseState(text, state);
  return state;
}

void Move(const Domain& domain, State& state, const std::string& moves) {
  for (const Action action : ParseActions(domain.spec(), moves)) {
    domain.Apply(Rows(std::span(state)), {&action, 1});
  }
}

State StateToShow(const Domain& domain, const ShowArgs& args) {
  if (!args.state.empty()) {
    if (args.random > 0) {
      throw InputError("--random starts from a goal: expected no STATE with it");
    }
    return ReadState(domain, args.state);
  }
  State state(static_cast<std::size_t>(domain.spec().state_size));
  RandomWalk walk(domain, Random(args.seed, Purpose::kScramble), state);
  for (std::int64_t i = 0; i < args.random; ++i) walk.Step();
  return state;
}

}  // namespace

int RunShow(const ShowArgs& args) {
  const auto domain = MakeDomain(args.domain);
  State state = StateToShow(*domain, args);
  Move(*domain, state, args.scramble);
  const Picture picture = domain->Draw(state);
  if (!args.svg.empty()) WriteFileAtomically(args.svg, ToSvg(picture));
  fmt::print("{}\n{}\n", ToTerminal(picture, UseColour(STDOUT_FILENO)), domain->FormatState(state));
  return kDone;
}

int RunApply(const ApplyArgs& args) {
  const auto domain = MakeDomain(args.domain);
  State state = ReadState(*domain, args.state);
  Move(*domain, state, args.moves);
  fmt::print("{}\n", domain->FormatState(state));
  return kDone;
}

}  // namespace tandem
