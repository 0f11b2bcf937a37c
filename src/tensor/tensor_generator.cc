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
#include "domain/random_walks.h"
#include "generate/row_ranges.h"
#include "generate/walk_generator.h"
#include "nn/threads.h"
#include "tandem/error.h"
#include "tensor/device_rows.h"
#include "tensor/tensor_programs.h"
#include "tensor/tensor_puzzle.h"

namespace tandem {
namespace {

constexpr const char* kKey = "generate.program";
constexpr std::size_t kGrain = 64;  // walks or rows per TBB task

// Does what WalkGenerator, or ValueIterationGenerator without searches, does for a V net.
class TensorGenerator final : public Generator {
 public:
  TensorGenerator(const Domain& domain, const Config& config, InferenceNet* network, Device& device)
      : device_(device),
        puzzle_(domain, device, kKey),
        spec_(domain.spec()),
        walk_rows_(config),
        chunk_rows_(config.generate.rows_of_chunk()),
        seed_(config.random_seed()),
        schema_(ExampleSchema(domain.spec(), config)),
        network_(NeedsNetwork(config.generate.target) ? network : nullptr),
        capped_(config.generate.target == Target::kCappedValueIteration),
        workers_(static_cast<int>(*config.generate.workers)),
        arena_(workers_),
        stream_(device.MakeStream()) {}

  bool needs_network() const override { return network_ != nullptr; }

  const Schema& schema() const override { return schema_; }

  DataBuffer MakeBuffer(std::size_t rows) const override {
    return MakeDeviceBuffer(schema_, rows, device_);
  }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    const c10::InferenceMode inference;
    const ScopedThreads threads(workers_);
    const std::unique_ptr<StreamScope> scope = stream_->Enter();
    const at::Tensor inputs = ColumnTensor(out, kInputColumn, puzzle_.device());
    const at::Tensor targets = ColumnTensor(out, kTargetColumn, puzzle_.device());
    for (std::int64_t first = 0; first < request.rows;) {
      if (stop.Reached()) throw Stopped();
      FaultPoint(Fault::kSimulator);
      const Chunk chunk =
          network_ == nullptr ? PrefixesOfWalks(request, first) : EndsOfWalks(request, first);
      const std::int64_t rows = chunk.places.size(0);
      const at::Tensor states = StatesOf(chunk);
      const at::Tensor labels = LabelsOf(chunk, states);
      const Span span(Activity::kWrite);
      inputs.narrow(0, first, rows).copy_(puzzle_.Encode(states));
      targets.narrow(0, first, rows).copy_(labels);
      first += rows;
    }
    Check(targets.narrow(0, 0, request.rows), request.update);
  }

 private:
  // Some rows, on the host: walks, and the place of each row in them. A place (TensorPuzzle::Walk)
  // is a number of actions and a walk.
  struct Chunk {
    at::Tensor actions;  // (longest, walks) int32; any after the walk's last
    at::Tensor costs;    // (longest + 1, walks) float: the cost of the way back, by place
    at::Tensor places;   // (rows) int64
  };

  // Rows from `first` on, which WalkRows takes of whole walks. The first and the last walk may lie
  // partly outside the requested rows.
  Chunk PrefixesOfWalks(const FillRequest& request, std::int64_t first) {
    const std::int64_t length = walk_rows_.length();
    const std::int64_t of_walk = walk_rows_.rows_per_walk();
    const std::int64_t begin = request.first_row + first;
    const std::int64_t end = request.first_row + request.rows;
    const std::int64_t walk = begin / of_walk;
    const std::int64_t walks = std::min(std::max<std::int64_t>(1, chunk_rows_ / length),
                                        (end + of_walk - 1) / of_walk - walk);
    Chunk chunk = DrawWalks(request.update, walk, walks, length, [&](Random&) { return length; });
    const Span span(Activity::kScramble);
    const std::int64_t rows = std::min((walk + walks) * of_walk, end) - begin;
    chunk.places = at::empty({rows}, at::kLong);
    auto* const places = chunk.places.mutable_data_ptr<std::int64_t>();
    ForEachInArena(rows, [&](std::int64_t i) {
      places[i] =
          walk_rows_.Depth(request.update, begin + i) * walks + (begin + i) / of_walk - walk;
    });
    return chunk;
  }

  // Rows from `first` on, each the end of a walk of random length.
  Chunk EndsOfWalks(const FillRequest& request, std::int64_t first) {
    const RowRanges ranges = RowRanges::ForOverlap(request.rows, chunk_rows_);
    const std::int64_t rows = ranges[first / ranges[0].rows].rows;
    const std::int64_t longest = request.longest_scramble.value_or(walk_rows_.length());
    return DrawWalks(request.update, request.first_row + first, rows, longest,
                     [&](Random& random) { return DrawScrambleLength(random, longest); });
  }

  // Draws walks first, first + 1, ... of an update, and takes their ends. length_of(random) is the
  // length of a walk, which may draw from `random` first, and at most `longest`. Costs are added in
  // the order in which RandomWalks adds them, so that they are rounded in the same way.
  template <class LengthOf>
  Chunk DrawWalks(std::int64_t update, std::int64_t first, std::int64_t walks, std::int64_t longest,
                  const LengthOf& length_of) {
    const Span span(Activity::kScramble);
    Chunk drawn{.actions = at::zeros({longest, walks}, at::kInt),
                .costs = at::zeros({longest + 1, walks}, at::kFloat),
                .places = at::empty({walks}, at::kLong)};
    auto* const actions = drawn.actions.mutable_data_ptr<std::int32_t>();
    auto* const costs = drawn.costs.mutable_data_ptr<float>();
    auto* const ends = drawn.places.mutable_data_ptr<std::int64_t>();
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

  // Calls work(i) for all i below `count`, on the workers.
  template <class Work>
  void ForEachInArena(std::int64_t count, const Work& work) {
    arena_.execute([&] {
      ForRanges(static_cast<std::size_t>(count), kGrain, [&](std::size_t begin, std::size_t size) {
        for (std::size_t i = begin; i < begin + size; ++i) work(static_cast<std::int64_t>(i));
      });
    });
  }

  at::Tensor StatesOf(const Chunk& chunk) const {
    const Span span(Activity::kScramble);
    return puzzle_.Walk(chunk.actions.to(puzzle_.device()), chunk.places.to(puzzle_.device()));
  }

  // Returns the targets (n, 1): the cost of the way back, or the backup that it may cap.
  at::Tensor LabelsOf(const Chunk& chunk, const at::Tensor& states) const {
    at::Tensor labels;
    if (network_ != nullptr) {
      labels = BackUp(states);
      if (!capped_) return labels;
    }
    const at::Tensor costs = chunk.costs.flatten().index_select(0, chunk.places).unsqueeze(1);
    return labels.defined() ? at::minimum(labels, costs.to(labels.device())) : costs;
  }

  // Returns what BellmanTargets writes without a cap, (n, 1). A NaN among the estimates stays one.
  at::Tensor BackUp(const at::Tensor& states) const {
    at::Tensor children;
    {
      const Span span(Activity::kExpand);
      children = puzzle_.Expand(states);
    }
    at::Tensor estimates;
    {
      const Span span(Activity::kEvaluate);
      estimates = network_->EstimateBatches(puzzle_.Encode(children));
    }
    const Span span(Activity::kBackUp);
    const std::int64_t actions = puzzle_.num_actions();
    const at::Tensor rest = estimates.clamp_min(0).masked_fill(puzzle_.IsGoal(children), 0);
    const at::Tensor backed_up = rest.view({states.size(0), actions}) + puzzle_.ActionCosts();
    return backed_up.amin(1, /*keepdim=*/true).masked_fill(puzzle_.IsGoal(states).unsqueeze(1), 0);
  }

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
  const WalkRows walk_rows_;
  const std::int64_t chunk_rows_;
  const std::uint64_t seed_;
  const Schema schema_;
  InferenceNet* const network_;  // null if labels are costs of walks
  const bool capped_;
  const int workers_;
  tbb::task_arena arena_;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace

std::unique_ptr<Generator> MakeTensorGenerator(const Domain& domain, const Config& config,
                                               InferenceNet* network, Device& device) {
  return std::make_unique<TensorGenerator>(domain, config, network, device);
}

}  // namespace tandem
