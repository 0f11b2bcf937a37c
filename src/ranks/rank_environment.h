// The place of this process in a group, as the program that started the group gives it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tandem {

/// RankEnvironment says which rank of a group of processes this one is, and where the ranks meet.
/// torchrun sets the variables that it comes from; with another launcher, a script sets them.
struct RankEnvironment {
  int rank = 0;                       ///< RANK: number of this process, from 0
  int world_size = 1;                 ///< WORLD_SIZE: number of processes
  int local_rank = 0;                 ///< LOCAL_RANK: number among the processes of this machine
  std::string host;                   ///< MASTER_ADDR: where the store is, at which the ranks meet
  std::uint16_t port = 0;             ///< MASTER_PORT
  bool launcher_holds_store = false;  ///< TORCHELASTIC_USE_AGENT_STORE; otherwise rank 0 holds it
  std::string run_id = {};            ///< TORCHELASTIC_RUN_ID
  int restart = 0;       ///< TORCHELASTIC_RESTART_COUNT: how often the ranks were started again
  int max_restarts = 0;  ///< TORCHELASTIC_MAX_RESTARTS
};

/// Returns the value of an environment variable, or nothing if it is not set.
using GetVariable = std::function<std::optional<std::string>(const char* name)>;

/// Returns nothing if this process belongs to no group: neither RANK nor WORLD_SIZE is set, or
/// WORLD_SIZE is 1 and MASTER_ADDR is not set. Throws InputError that names the variable if one is
/// missing or has no meaning.
std::optional<RankEnvironment> ReadRankEnvironment(const GetVariable& variable);

/// Reads the environment of this process.
std::optional<RankEnvironment> ReadRankEnvironment();

}  // namespace tandem
