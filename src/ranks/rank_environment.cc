#include "ranks/rank_environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr const char* kHowToStart =
    "Start ranks with `torchrun --nproc-per-node N --no-python tandem train ...`, or unset RANK "
    "and WORLD_SIZE";

// Returns the number in a variable, which must be from `least` to `most`.
int Number(const char* name, const std::string& value, int least, int most) {
  const auto number = ParseNumber<int>(value);
  if (number && *number >= least && *number <= most) return *number;
  const std::string range = most == std::numeric_limits<int>::max()
                                ? fmt::format("at least {}", least)
                                : fmt::format("from {} to {}", least, most);
  throw InputError(fmt::format("environment variable {} is \"{}\"; expected a number {}. {}", name,
                               value, range, kHowToStart));
}

}  // namespace

std::optional<RankEnvironment> ReadRankEnvironment(const GetVariable& variable) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const auto set = [&](const char* name) { return variable(name).has_value(); };
  if (!set("RANK") && !set("WORLD_SIZE")) return std::nullopt;
  const auto required = [&](const char* name) {
    if (const auto value = variable(name); value && !value->empty()) return *value;
    throw InputError(fmt::format(
        "environment variable {} is not set, but {} is, so this process is one of several ranks. "
        "{}",
        name, set("RANK") ? "RANK" : "WORLD_SIZE", kHowToStart));
  };
  const auto number_or = [&](const char* name, int otherwise, int least, int most) {
    const auto value = variable(name);
    return value ? Number(name, *value, least, most) : otherwise;
  };
  RankEnvironment environment;
  environment.world_size = Number("WORLD_SIZE", required("WORLD_SIZE"), 1, kMost);
  if (environment.world_size == 1 && !set("MASTER_ADDR")) return std::nullopt;
  environment.rank = Number("RANK", required("RANK"), 0, environment.world_size - 1);
  environment.host = required("MASTER_ADDR");
  environment.port = static_cast<std::uint16_t>(
      Number("MASTER_PORT", required("MASTER_PORT"), 1, std::numeric_limits<std::uint16_t>::max()));
  environment.local_rank = number_or("LOCAL_RANK", 0, 0, environment.world_size - 1);
  environment.launcher_holds_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  environment.run_id = variable("TORCHELASTIC_RUN_ID").value_or("");
  environment.restart = number_or("TORCHELASTIC_RESTART_COUNT", 0, 0, kMost);
  environment.max_restarts = number_or("TORCHELASTIC_MAX_RESTARTS", 0, 0, kMost);
  return environment;
}

std::optional<RankEnvironment> ReadRankEnvironment() {
  return ReadRankEnvironment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace tandem
