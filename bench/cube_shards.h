// A set of cube examples on disk for benchmarks, larger than the processor's caches.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/file.h"
#include "data/shard_set.h"
#include "generate/generator.h"
#include "generate/shard_jobs.h"
#include "support/temp_folder.h"
#include "tandem/registry.h"

namespace tandem {

inline Config CubeConfig() {
  Config config;
  config.generate.workers = std::max(1U, std::thread::hardware_concurrency());
  return config;
}

/// The set is made on first use, in the folder for temporary files, and deleted when the program
/// ends.
class CubeShards {
 public:
  static const CubeShards& Get(std::int64_t examples) {
    static const CubeShards shards(examples);
    return shards;
  }

  const std::filesystem::path& path() const { return folder_.path(); }

  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    const ShardSet set(path());
    for (std::int64_t c = 0; c < set.spec().num_chunks(); ++c) bytes += set.StoredBytes(c);
    return bytes;
  }

  /// Removes the files from the system's page cache, so that they are read from the disk.
  void DropFromMemory() const {
    const ShardSet set(path());
    for (const auto& shard : set.shards()) {
      const OpenFile file(shard.path);
      ::fsync(file.descriptor());
      ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
    }
  }

 private:
  explicit CubeShards(std::int64_t examples) {
    const Config config = CubeConfig();
    const auto domain = MakeDomain(config.domain.full_name());
    const StopSignal stop;
    GenerateShards(*MakeGenerator(*domain, config, nullptr),
                   SpecOfSet(config, domain->spec(), {.examples = examples}, ""), path(), {}, stop,
                   [](const GenerateProgress&) {});
  }

  TempFolder folder_;
};

}  // namespace tandem
