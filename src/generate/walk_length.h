// Targets by walk length: what DeepCubeA's successors without a target network train on.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include "config/train_config.h"
#include "domain/random_walk.h"
#include "generate/chunks.h"
#include "generate/generator.h"

namespace tandem {

struct WalkLengthOptions {
  Head head = Head::kV;
  std::uint64_t seed = 0;
  std::int64_t length = GenerateConfig{}.max_scramble;  ///< actions in each walk
  std::int64_t chunk_rows = GenerateConfig{}.chunk_rows;
  int workers = 1;
};

/// Every prefix of a random walk is an example, labelled with its cost, which bounds the true
/// cost-to-go from above (Takano, "Self-Supervision is All You Need for Solving Rubik's Cube",
/// TMLR 2023, trains on all prefixes; Chervov et al., "CayleyPy", 2025, on walk lengths).
///
/// For a Q net, the walk may be taken as one step longer by every action but the one that leads
/// back, which makes it one shorter: the label of action a is its cost plus the length of that
/// walk.
///
/// Global row r is the prefix of (r mod length) + 1 actions of walk r / length, whatever the
/// chunks.
class WalkLengthGenerator final : public Generator {
 public:
  /// `domain` must outlive this. Throws InputError for a Q net of a domain whose actions have no
  /// inverses.
  WalkLengthGenerator(const Domain& domain, WalkLengthOptions options);

  bool asks_network() const override { return false; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  class Prefixes;

  void FillChunk(const FillRequest& request, Chunk chunk, DataBuffer& out) const;
  void Walk(Prefixes& prefixes, Rows states, std::size_t first, DataBuffer& out) const;
  void WriteLabel(const RandomWalk& walk, std::span<float> label) const;

  const Domain& domain_;
  const WalkLengthOptions options_;
  tbb::task_arena arena_;
};

}  // namespace tandem
