// The generator of the target walk_steps.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstdint>

#include "config/config.h"
#include "generate/generator.h"

namespace tandem {

/// StepsGenerator makes one row of each random walk, and labels it with the number of its steps.
class StepsGenerator final : public Generator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`.
  StepsGenerator(const Domain& domain, const Config& config);

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  const Domain& domain_;
  const std::int64_t max_scramble_;
  const std::int64_t range_rows_;
  const std::uint64_t seed_;
  const Schema schema_;
  tbb::task_arena arena_;
};

}  // namespace tandem
