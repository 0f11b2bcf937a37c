#include "tensor/tensor_generator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <optional>

#include "base/fault_point.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "data/examples.h"
#include "domain/random_walk.h"
#include "generate/row_ranges.h"
#include "generate/walk_generator.h"
#include "nn/threads.h"
#include "tandem/error.h"
#include "tensor/device_rows.h"
#include "tensor/tensor_puzzle.h"

namespace tandem {
namespace {

constexpr const char* kKey = "generate.program";
constexpr std::size_t kGrain = 64;  // walks or rows per TBB task

// The parts that both generators have.
class TensorGenerator : public Generator {
 public:
  TensorGenerator(const Domain& domain, const Config& config, Device& device)
      : device_(device),
        puzzle_(domain, device, kKey),
        spec_(domain.spec()),
        max_scramble_(config.generate.max_scramble),
        chunk_rows_(config.generate.rows_of_chunk()),
        seed_(config.random_seed()),
        schema_(ExampleSchema(domain.spec(), config)),
        workers_(static_cast<int>(*config.generate.workers)),
        arena_(workers_),
        stream_(device.MakeStream()) {}

  const Schema& schema() const final { return schema_; }

  DataBuffer MakeBuffer(std::size_t rows) const final {
    return MakeDeviceBuffer(schema_, rows, device_);
  }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) final {
    const c10::InferenceMode inference;
    const ScopedThreads threads(workers_);
    const std::unique_ptr<StreamScope> scope = stream_->Enter();
    const at::Tensor inputs = ColumnTensor(out, kInputColumn, puzzle_.device());
    const at::Tensor targets = ColumnTensor(out, kTargetColumn, puzzle_.device());
    FillColumns(request, inputs, targets, stop);
    Check(targets.narrow(0, 0, request.rows), request.update);
  }

 protected:
  // Calls work(i) for all i below `count`, on the workers.
  template <class Work>
  void ForEachInArena(std::int64_t count, const Work& work) {
    arena_.execute([&] {
      ForRanges(static_cast<std::size_t>(count), kGrain, [&](std::size_t begin, std::size_t size) {
        for (std::size_t i = begin; i < begin + size; ++i) work(static_cast<std::int64_t>(i));
      });
    });
  }

  const TensorPuzzle& puzzle() const { return puzzle_; }
  std::int64_t max_scramble() const { return max_scramble_; }
  std::int64_t chunk_rows() const { return chunk_rows_; }

  static void BeginChunk(const StopSignal& stop) {
    if (stop.Reached()) throw Stopped();
    FaultPoint(Fault::kSimulator);
  }

  // Walks on the host. A place (TensorPuzzle::Walk) is a number of actions and a walk.
  struct Walks {
    at::Tensor actions;  // (longest, walks) int32; any after the walk's last
    at::Tensor costs;    // (longest + 1, walks) float: the cost of the way back, by place
    at::Tensor ends;     // (walks) int64: the last place of each walk
  };

  // Draws walks first, first + 1, ... of an update. length_of(random) is the length of a walk,
  // which may draw from `random` first, and at most `longest`. Costs are added in the order in
  // which a RandomWalk adds them, so that they are rounded in the same way.
  template <class LengthOf>
  Walks DrawWalks(std::int64_t update, std::int64_t first, std::int64_t walks, std::int64_t longest,
                  const LengthOf& length_of) {
    const Span span(Activity::kScramble);
    Walks drawn{.actions = at::zeros({longest, walks}, at::kInt),
                .costs = at::zeros({longest + 1, walks}, at::kFloat),
                .ends = at::empty({walks}, at::kLong)};
    auto* const actions = drawn.actions.mutable_data_ptr<std::int32_t>();
    auto* const costs = drawn.costs.mutable_data_ptr<float>();
    auto* const ends = drawn.ends.mutable_data_ptr<std::int64_t>();
    ForEachInArena(walks, [&](std::int64_t walk) {
      Random random(seed_, Purpose::kScramble, update, first + walk);
      const std::int64_t end = length_of(random) * walks + walk;
      std::optional<Action> back;
      for (std::int64_t place = walk; place < end; place += walks) {
        const Action action = DrawStep(random, spec_.num_actions(), back);
        back = spec_.inverse_actions[action];
        actions[place] = action;
        costs[place + walks] = costs[place] + UndoCost(spec_, action);
      }
      ends[walk] = end;
    });
    return drawn;
  }

  at::Tensor StatesAt(const at::Tensor& places, const Walks& walks) const {
    const Span span(Activity::kScramble);
    return puzzle_.Walk(walks.actions.to(puzzle_.device()), places.to(puzzle_.device()));
  }

  // Returns what it costs to go back from each place, (n, 1).
  static at::Tensor CostsAt(const at::Tensor& places, const Walks& walks) {
    return walks.costs.flatten().index_select(0, places).unsqueeze(1);
  }

 private:
  // Writes rows [0, request.rows) of the two columns.
  virtual void FillColumns(const FillRequest& request, const at::Tensor& inputs,
                           const at::Tensor& targets, const StopSignal& stop) = 0;

  // Does what CheckTargets does, and waits until all rows are there.
  static void Check(const at::Tensor& targets, std::int64_t update) {
    const Span span(Activity::kWaitForDevice);
    const at::Tensor valid = targets.isfinite().logical_and(targets >= 0).all(1);
    if (valid.all().item<bool>()) return;
    const auto row = valid.logical_not().nonzero()[0].item<std::int64_t>();
    throw Error(fmt::format(
        "the rows of update {}: the target of row {} is {}, expected a finite number of at least "
        "0. If the network's training diverged, lower optimizer.learning_rate.",
        update, row, targets[row][0].item<float>()));
  }

  Device& device_;
  const TensorPuzzle puzzle_;
  const DomainSpec& spec_;
  const std::int64_t max_scramble_;
  const std::int64_t chunk_rows_;
  const std::uint64_t seed_;
  const Schema schema_;
  const int workers_;
  tbb::task_arena arena_;
  const std::unique_ptr<Stream> stream_;
};

// Does what WalkGenerator does for a V net.
class TensorWalkLength final : public TensorGenerator {
 public:
  TensorWalkLength(const Domain& domain, const Config& config, Device& device)
      : TensorGenerator(domain, config, device), rows_(config) {}

  bool needs_network() const override { return false; }

 private:
  void FillColumns(const FillRequest& request, const at::Tensor& inputs, const at::Tensor& targets,
                   const StopSignal& stop) override {
    const std::int64_t length = rows_.length();
    const std::int64_t of_walk = rows_.rows_per_walk();
    const std::int64_t end_row = request.first_row + request.rows;
    const std::int64_t end_walk = (end_row + of_walk - 1) / of_walk;
    const std::int64_t at_once = std::max<std::int64_t>(1, chunk_rows() / length);
    for (std::int64_t walk = request.first_row / of_walk; walk < end_walk; walk += at_once) {
      BeginChunk(stop);
      const std::int64_t walks = std::min(at_once, end_walk - walk);
      const Walks drawn = DrawWalks(request.update, walk, walks, length,
                                    [&](Random& /*random*/) { return length; });
      // The first and the last walk may lie partly outside the requested rows.
      const std::int64_t begin = std::max(walk * of_walk, request.first_row);
      const std::int64_t rows = std::min((walk + walks) * of_walk, end_row) - begin;
      const at::Tensor places = PlacesOfRows(request.update, walk, walks, begin, rows);
      const at::Tensor states = StatesAt(places, drawn);
      const Span span(Activity::kWrite);
      const std::int64_t first = begin - request.first_row;
      inputs.narrow(0, first, rows).copy_(puzzle().Encode(states));
      targets.narrow(0, first, rows).copy_(CostsAt(places, drawn));
    }
  }

  // Returns the places of rows `begin`, begin + 1, ... among those of walks first_walk,
  // first_walk + 1, ...
  at::Tensor PlacesOfRows(std::int64_t update, std::int64_t first_walk, std::int64_t walks,
                          std::int64_t begin, std::int64_t rows) {
    const Span span(Activity::kScramble);
    at::Tensor places = at::empty({rows}, at::kLong);
    auto* const data = places.mutable_data_ptr<std::int64_t>();
    ForEachInArena(rows, [&](std::int64_t i) {
      const std::int64_t walk = (begin + i) / rows_.rows_per_walk() - first_walk;
      data[i] = rows_.Depth(update, begin + i) * walks + walk;
    });
    return places;
  }

  const WalkRows rows_;
};

// Does what ValueIterationGenerator does for a V net without searches.
class TensorValueIteration final : public TensorGenerator {
 public:
  TensorValueIteration(const Domain& domain, const Config& config, InferenceNet& network,
                       Device& device)
      : TensorGenerator(domain, config, device),
        network_(network),
        capped_(config.generate.target == Target::kCappedValueIteration) {}

  bool needs_network() const override { return true; }

 private:
  void FillColumns(const FillRequest& request, const at::Tensor& inputs, const at::Tensor& targets,
                   const StopSignal& stop) override {
    const RowRanges ranges = RowRanges::ForOverlap(request.rows, chunk_rows());
    const std::int64_t longest = request.longest_scramble.value_or(max_scramble());
    for (std::int64_t i = 0; i < ranges.size(); ++i) {
      BeginChunk(stop);
      const auto [first, rows] = ranges[i];
      const Walks drawn =
          DrawWalks(request.update, request.first_row + first, rows, longest,
                    [&](Random& random) { return DrawScrambleLength(random, longest); });
      const at::Tensor states = StatesAt(drawn.ends, drawn);
      inputs.narrow(0, first, rows).copy_(puzzle().Encode(states));
      at::Tensor labels = BackUp(states);
      if (capped_) {
        labels = at::minimum(labels, CostsAt(drawn.ends, drawn).to(targets.device()));
      }
      targets.narrow(0, first, rows).copy_(labels);
    }
  }

  // Returns the targets that BellmanTargets writes without a cap, (n, 1). A NaN among the estimates
  // stays one.
  at::Tensor BackUp(const at::Tensor& states) {
    at::Tensor children;
    {
      const Span span(Activity::kExpand);
      children = puzzle().Expand(states);
    }
    at::Tensor estimates;
    {
      const Span span(Activity::kEvaluate);
      estimates = network_.EstimateBatches(puzzle().Encode(children));
    }
    const Span span(Activity::kBackUp);
    const std::int64_t actions = puzzle().num_actions();
    const at::Tensor rest = estimates.clamp_min(0).masked_fill(puzzle().IsGoal(children), 0);
    const at::Tensor backed_up = rest.view({states.size(0), actions}) + puzzle().ActionCosts();
    return backed_up.amin(1, /*keepdim=*/true).masked_fill(puzzle().IsGoal(states).unsqueeze(1), 0);
  }

  InferenceNet& network_;
  const bool capped_;
};

}  // namespace

std::unique_ptr<Generator> MakeTensorGenerator(const Domain& domain, const Config& config,
                                               InferenceNet* network, Device& device) {
  if (!NeedsNetwork(config.generate.target)) {
    return std::make_unique<TensorWalkLength>(domain, config, device);
  }
  return std::make_unique<TensorValueIteration>(domain, config, *network, device);
}

}  // namespace tandem
