// Generates a set of shards into a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/stop_signal.h"
#include "data/shard_file.h"
#include "generate/generator.h"

namespace tandem {

/// ProcessRank says which of several processes this one is. The process with rank r generates the
/// shards whose number is r modulo `world_size`.
struct ProcessRank {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

/// GenerateProgress says how far a process has come with its shards.
struct GenerateProgress {
  std::int64_t rows_made = 0;
  std::int64_t rows_found = 0;  ///< rows of shards that existed already
  std::int64_t rows = 0;        ///< all rows of the process
  std::int64_t bytes = 0;       ///< bytes of the shards that were generated
};

/// Generates the missing shards of a process. Each chunk is one request for its global rows, so the
/// files are byte-identical no matter which process generates them and how often it is interrupted.
/// One chunk is filled while a background thread compresses and writes another.
///
/// `progress` is called on the calling thread: before the first chunk and after each. Throws
/// InputError if the folder holds shards of a different set (the message names both), or if the set
/// would exceed a limit of readers (FindExceededLimit). Throws Error if the disk has too little
/// free space, Stopped once `stop` is reached, and whatever generating and writing throw. An
/// unfinished shard leaves no file behind.
void GenerateShards(Generator& generator, const ShardSetSpec& set,
                    const std::filesystem::path& folder, ProcessRank process,
                    const StopSignal& stop,
                    const std::function<void(const GenerateProgress&)>& progress);

}  // namespace tandem
