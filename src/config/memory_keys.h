// Advice for a run that needs too much memory: which config keys to change.
#pragma once

namespace tandem {

inline constexpr const char* kToSpareMemory =
    "lower train.batch_size, train.iterations_per_update, replay.updates, generate.chunk_rows, "
    "generate.search_iterations, inference.batch_size, network.width, search.beam_width or "
    "search.max_nodes, or raise train.accumulation_steps";

inline constexpr const char* kToSpareGpuMemory =
    "raise train.accumulation_steps, or lower train.batch_size, inference.batch_size, "
    "network.width, prefetch.depth, search.beam_width or search.batch";

}  // namespace tandem
