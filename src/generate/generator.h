// The interface of the generators, which fill buffers with training examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/examples.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

class ExactLabels;

/// FillRequest is a range of the global rows of one buffer. Several processes that fill different
/// ranges produce together the same rows as one process that fills them all. Labels from a network
/// are bit-identical only if the ranges are the same, because rounding depends on which rows are
/// evaluated together.
struct FillRequest {
  std::int64_t update = 0;     ///< number of the update that the buffer is for, from 0
  std::int64_t first_row = 0;  ///< global row, from 0 in each update
  std::int64_t rows = 0;
  /// Length of the longest scramble that a search starts from. Nothing: generate.max_scramble. Only
  /// targets with a search follow it (Curriculum).
  std::optional<std::int64_t> longest_scramble = std::nullopt;
};

/// Generator produces training examples. The rows are a function of the generator's config, the
/// request and, if needs_network(), the network's weights. They depend neither on the number of
/// threads nor on timing.
class Generator {
 public:
  virtual ~Generator() = default;

  /// Whether the rows depend on a network.
  virtual bool needs_network() const = 0;

  /// The columns of the rows: ExampleSchema, or StateSchema if they are unlabelled.
  virtual const Schema& schema() const = 0;

  /// Makes a buffer that Fill can write to. By default its memory is the host's.
  virtual DataBuffer MakeBuffer(std::size_t rows) const { return {schema(), rows}; }

  /// Writes the requested rows to rows [0, request.rows) of `out`, whose schema is schema(). `out`
  /// is in the host's memory or comes from MakeBuffer. In a device's memory, where no other code
  /// can read labels, also checks that they are valid (CheckTargets). Blocks until done. Only one
  /// call at a time, from any thread. Throws Stopped once `stop` is reached, and whatever the
  /// domain or the network throws.
  virtual void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) = 0;

  /// Returns the share of the searches of the last Fill that found a way to a goal
  /// (SolvedByLength), which is a function of the same arguments as the rows. Nothing if there was
  /// no search.
  virtual std::optional<double> searches_solved() const { return std::nullopt; }
};

/// Creates the generator that generate.target selects. `generate.workers` must be a number, not
/// auto. `network` may be null only if the target needs no network (NeedsNetwork). Throws Error if
/// the target backs up estimates of states and the network gives none; own_solutions works with any
/// network. `domain` and `network` must outlive the result. `exact` shares a ball that exists
/// already; if it is null, the generator builds the ball of generate.ball_radius itself.
///
/// The rows are labelled unless pipeline.mode is sync_main: there the generator queries the network
/// being trained, so its rows stay unlabelled until StoredStateLabeller labels them.
std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const Config& config,
                                         Evaluator* network,
                                         std::shared_ptr<const ExactLabels> exact = nullptr);

}  // namespace tandem
