// The interface of the generators, which fill buffers with training examples.
#pragma once

#include <cstdint>
#include <memory>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/examples.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// FillRequest is a range of the global rows of one buffer. Several processes that fill different
/// ranges produce together the same rows as one process that fills them all. Labels from a network
/// are bit-identical only if the ranges are the same, because rounding depends on which rows are
/// evaluated together.
struct FillRequest {
  std::int64_t update = 0;     ///< number of the update that the buffer is for, from 0
  std::int64_t first_row = 0;  ///< global row, from 0 in each update
  std::int64_t rows = 0;
};

/// Generator produces training examples. The rows are a function of the generator's options, the
/// request and, if needs_network(), the target network's weights. They depend neither on the number
/// of threads nor on timing.
class Generator {
 public:
  virtual ~Generator() = default;

  /// Whether the rows depend on a network.
  virtual bool needs_network() const = 0;

  /// Writes the requested rows to rows [0, request.rows) of `out`. Its schema is ExampleSchema, or
  /// StateSchema if the generator was made to leave its rows unlabelled. Blocks until done. Only
  /// one call at a time, from any thread. Throws Stopped once `stop` is reached, and whatever the
  /// domain or the network throws.
  virtual void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) = 0;
};

/// AskedNetwork is the network that a generator queries, and whether its estimates label the rows.
struct AskedNetwork {
  Evaluator* network = nullptr;  ///< may be null only if config.generate.target is walk_length
  bool labels = true;            ///< false: the rows stay unlabelled and have StateSchema
};

/// Creates the generator for `config`. `config.generate.workers` must be a number, not auto.
/// `domain` and the network must outlive the result.
std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const Config& config,
                                         AskedNetwork asked);

}  // namespace tandem
