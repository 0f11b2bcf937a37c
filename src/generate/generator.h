// The interface of the generators, which fill buffers with training examples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

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

  /// The number of a global row in the fill. Nothing if it is outside the request, whose ends may
  /// lie within a search or a series of games.
  std::optional<std::size_t> RowInFill(std::int64_t global_row) const {
    const std::int64_t row = global_row - first_row;
    return row < 0 || row >= rows ? std::nullopt : std::optional(static_cast<std::size_t>(row));
  }
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
/// being trained, so rows of puzzles stay unlabelled until StoredStateLabeller labels them.
std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const Config& config,
                                         Evaluator* network,
                                         std::shared_ptr<const ExactLabels> exact = nullptr);

/// Make the generator of a kind of target, for MakeGenerator. `exact` may be null.
std::unique_ptr<Generator> MakeWalkGenerator(const Domain& domain, const Config& config,
                                             std::shared_ptr<const ExactLabels> exact);
std::unique_ptr<Generator> MakeValueIterationGenerator(const Domain& domain, Evaluator& network,
                                                       const Config& config,
                                                       std::shared_ptr<const ExactLabels> exact);
std::unique_ptr<Generator> MakeOwnSolutionsGenerator(const Domain& domain, Evaluator& network,
                                                     const Config& config);
std::unique_ptr<Generator> MakeRetrogradeGenerator(const Domain& domain, const Config& config);

/// Throws InputError if `domain` is not a game, and Error if `network` has no policy and values.
std::unique_ptr<Generator> MakeSelfPlayGenerator(const Domain& domain, Evaluator& network,
                                                 const Config& config);

/// SolvedByLength counts searches, and those that reached a goal, by the length of their scrambles.
class SolvedByLength {
 public:
  void Add(std::int64_t length, bool solved);

  /// Returns the share that reached a goal: the mean of the shares of all lengths that have a
  /// search. Each length counts the same, however many searches it has. Nothing without a search.
  std::optional<double> MeanShare() const;

 private:
  struct Count {
    std::int64_t searches = 0;
    std::int64_t solved = 0;
  };
  std::vector<Count> counts_;  // at [length]
};

/// Curriculum decides how long the scrambles of the next fill may be. With generate.curriculum, the
/// longest has one action at first. It doubles, up to generate.max_scramble, after each fill whose
/// searches solved at least half of their scrambles (SolvedByLength::MeanShare). Lengths are
/// uniform from 0 to the longest. The rule is that of DeepXube 0.3.2 (option --bal).
///
/// The longest scramble of a fill depends only on earlier fills, so a run stays a function of its
/// config.
class Curriculum {
 public:
  /// Goes on from `reached`, which is 1 in a new run and reached() of the previous object in a run
  /// that was resumed.
  Curriculum(const GenerateConfig& config, std::int64_t reached)
      : is_on_(config.curriculum),
        max_(config.max_scramble),
        reached_(is_on_ ? std::min(reached, max_) : reached) {}

  /// Returns the length of the longest scramble of the next fill. Nothing without
  /// generate.curriculum: all lengths up to generate.max_scramble are allowed.
  std::optional<std::int64_t> longest_scramble() const {
    return is_on_ ? std::optional(reached_) : std::nullopt;
  }

  /// Call after each fill, and before the next one starts, with Generator::searches_solved().
  void FillEnds(std::optional<double> searches_solved);

  /// Returns the length that the curriculum has reached.
  std::int64_t reached() const { return reached_; }

 private:
  bool is_on_;
  std::int64_t max_;
  std::int64_t reached_;
};

}  // namespace tandem
