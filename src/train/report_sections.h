// Parts of the report that only some runs have: on shards, a stream and ranks.
#pragma once

#include <memory>

#include "config/config.h"
#include "loaders/shard_loader.h"
#include "loaders/stream_loader.h"
#include "nn/network.h"
#include "train/report.h"
#include "train/run_directory.h"

namespace tandem {

class Ranks;

// The arguments of a section must outlive it. It counts from when it is made.

/// Compares the weights of the ranks by their hash after each update, and reports how they shared
/// its time. All ranks must have this section. OnUpdate throws Error that names the ranks whose
/// weights differ from rank 0's.
std::unique_ptr<RunSection> MakeRankSection(Ranks& ranks, const Network& net, const Config& config);

/// Reports how much was read from shards and how fast. The rate of transfers is left out for the
/// CPU, where nothing is transferred.
std::unique_ptr<RunSection> MakeShardSection(const ShardLoader& shards, const Config& config);

/// Reports which rows of a stream were used, and writes the ledger of `directory`.
std::unique_ptr<RunSection> MakeStreamSection(StreamLoader& stream, const RunDirectory& directory);

}  // namespace tandem
