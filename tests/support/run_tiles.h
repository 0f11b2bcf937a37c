// Does on a CPU what the kernel that permutes rows does on a GPU, one thread after another.
#pragma once

#include <array>
#include <cstdint>

#include "domain/permute_tile.h"

namespace tandem {

/// Runs every tile with its own shared memory.
inline void RunTiles(const PermuteJob& job) {
  constexpr std::uint32_t kThreads = 256;
  for (std::uint64_t number = 0; number < PermuteTile::CountOf(job); ++number) {
    const PermuteTile tile(job, number);
    alignas(4) std::array<std::uint8_t, PermuteTile::kSharedBytes> shared;
    shared.fill(0xEE);
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      tile.Load(thread, kThreads, shared.data());
    }
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      tile.Store(thread, kThreads, shared.data());
    }
  }
}

}  // namespace tandem
