// tandem show DOMAIN [STATE], tandem apply DOMAIN
#include <fmt/format.h>

#include "apps/commands.h"
#include "apps/output_file.h"
#include "apps/start_state.h"
#include "base/machine.h"
#include "tandem/registry.h"

namespace tandem {

int RunShow(const ShowArgs& args) {
  const auto domain = MakeDomain(args.start.domain);
  const std::vector<std::uint8_t> state = StartState(*domain, args.start);
  const Picture picture = domain->Draw(state);
  if (!args.svg.empty()) WriteOutput(args.svg, ToSvg(picture));
  fmt::print("{}\n{}\n", ToTerminal(picture, UseColour(STDOUT_FILENO)), domain->FormatState(state));
  return kDone;
}

int RunApply(const ApplyArgs& args) {
  const auto domain = MakeDomain(args.domain);
  std::vector<std::uint8_t> state = ReadState(*domain, args.state);
  MakeMoves(*domain, args.moves, state);
  fmt::print("{}\n", domain->FormatState(state));
  return kDone;
}

}  // namespace tandem
