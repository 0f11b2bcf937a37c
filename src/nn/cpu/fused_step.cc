#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/timeline.h"
#include "nn/bf16.h"
#include "nn/cpu/block_products.h"
#include "nn/cpu/cpu_backend.h"
#include "nn/cpu/fused_tiles.h"
#include "nn/cpu/passes.h"
#include "nn/resnet_fc.h"

namespace tandem {

namespace {

// Divides the work of FusedTiles among threads.
template <class T>
class FusedStep final : public GradientStep {
 public:
  FusedStep(const ResNetFC& net, const TrainingConfig& config, bool multiplies_first)
      : input_(net.spec().input),
        outputs_(net.spec().outputs),
        parts_(config.accumulation_steps),
        parameters_(net, FlatParameters::Copies::kNone, /*padding=*/0),
        tiles_(net, parameters_, config, multiplies_first) {}

  at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights) override {
    const Span span(Activity::kBackward);
    const c10::NoGradGuard no_grad;
    CheckInputs(inputs, input_.depth, "training step");
    const std::int64_t rows = inputs.size(0) / parts_;
    Reserve(rows);
    BatchPart part{.rows = rows,
                   .cost_scale = tiles_.loss().CostScale(rows * parts_, outputs_, weights),
                   .row_scale = 1 / static_cast<double>(rows * parts_)};
    double loss = 0;
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t first = i * rows;
      part.bytes = inputs.const_data_ptr<std::uint8_t>() + first * input_.positions;
      part.targets = targets.const_data_ptr<float>() + first * outputs_;
      part.weights =
          weights.defined() ? weights.const_data_ptr<float>() + first * outputs_ : nullptr;
      part.add = i > 0;
      loss += Run(part);
    }
    parameters_.AttachGradients();
    *mean_loss_.mutable_data_ptr<float>() = static_cast<float>(loss);
    return mean_loss_;
  }

  FlatParameters* flat() override { return &parameters_; }

 private:
  void Reserve(std::int64_t rows);
  double Run(const BatchPart& part);
  void RunTile(const BatchPart& part, std::int64_t tile, TileMemory<T>& memory);
  void RunByLayer(const BatchPart& part, RegionFailure& failure);

  // Counts a tile whose part of a stage is done. True for the last of the stage's tiles.
  bool IsLast(std::int64_t tiles) {
    if (finished_.fetch_add(1) + 1 < tiles) return false;
    finished_ = 0;
    return true;
  }

  const InputLayout input_;
  const std::int64_t outputs_;
  const std::int64_t parts_;
  FlatParameters parameters_;
  FusedTiles<T> tiles_;
  const at::Tensor mean_loss_ = at::zeros({});  // of the last batch
  std::vector<TileMemory<T>> memory_;  // of each thread or, with batch normalisation, each tile
  std::atomic<std::int64_t> finished_ = 0;  // tiles of the current stage (RunByLayer)
};

// Makes room for `rows` rows and for the current number of threads.
template <class T>
void FusedStep<T>::Reserve(std::int64_t rows) {
  tiles_.Reserve(rows);
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  const auto all =
      tiles_.layers().normalises_batch() ? Size(CeilDivide(tiles_.capacity(), kTileRows)) : 0;
  while (memory_.size() < std::max(threads, all)) memory_.emplace_back(tiles_.layers());
}

// All loops hand out their pieces in any order, but no two pieces write to the same numbers.
template <class T>
double FusedStep<T>::Run(const BatchPart& part) {
  const std::int64_t tiles = part.num_tiles();
  const std::int64_t preparations = tiles_.NumPreparations(part);
  const std::int64_t gradients = tiles_.NumGradients();
  RegionFailure failure;
#pragma omp parallel
  {
    TileMemory<T>& memory = memory_[Size(omp_get_thread_num())];
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < preparations; ++i) tiles_.Prepare(part, i, memory);
    if (tiles_.layers().normalises_batch()) {
      RunByLayer(part, failure);
    } else {
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < tiles; ++i) {
        failure.Catch([&] { RunTile(part, i, memory); });
      }
    }
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < gradients; ++i) {
      failure.Catch([&] { tiles_.SetGradients(part, i); });
    }
    failure.Catch([] { ReleaseBlocks<T>(); });
  }
  failure.Rethrow();
  return tiles_.LossOf(part);
}

template <class T>
void FusedStep<T>::RunTile(const BatchPart& part, std::int64_t tile, TileMemory<T>& memory) {
  const std::size_t layers = tiles_.layers().size();
  for (std::size_t i = 0; i < layers; ++i) {
    tiles_.Multiply(part, tile, i, memory);
    tiles_.Activate(part, tile, i, memory);
  }
  tiles_.RunOutput(part, tile, memory);
  for (std::size_t i = layers; i-- > 0;) {
    tiles_.ActivateBackward(part, tile, i, memory);
    tiles_.MultiplyBackward(part, tile, i, memory);
  }
}

// With batch normalisation, no tile can finish a layer before the statistics of all rows are known.
// All tiles therefore do one layer before any does the next. The thread that does the last tile of
// a layer joins the statistics, so threads wait for each other once per layer and direction. Runs
// on each thread of a team.
template <class T>
void FusedStep<T>::RunByLayer(const BatchPart& part, RegionFailure& failure) {
  const std::int64_t tiles = part.num_tiles();
  const std::size_t layers = tiles_.layers().size();
  for (std::size_t i = 0; i < layers; ++i) {
#pragma omp for schedule(dynamic)
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      TileMemory<T>& memory = memory_[Size(tile)];
      failure.Catch([&] {
        if (i > 0) tiles_.Activate(part, tile, i - 1, memory);
        tiles_.Multiply(part, tile, i, memory);
      });
      if (IsLast(tiles)) tiles_.JoinMoments(part, i);
    }
  }
  const std::size_t last = layers - 1;
#pragma omp for schedule(dynamic)
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    TileMemory<T>& memory = memory_[Size(tile)];
    failure.Catch([&] {
      tiles_.Activate(part, tile, last, memory);
      tiles_.RunOutput(part, tile, memory);
      tiles_.ActivateBackward(part, tile, last, memory);
    });
    if (IsLast(tiles)) tiles_.JoinGradients(part, last);
  }
  for (std::size_t i = layers; i-- > 0;) {
#pragma omp for schedule(dynamic)
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      TileMemory<T>& memory = memory_[Size(tile)];
      failure.Catch([&] {
        tiles_.MultiplyBackward(part, tile, i, memory);
        if (i > 0) tiles_.ActivateBackward(part, tile, i - 1, memory);
      });
      if (i > 0 && IsLast(tiles)) tiles_.JoinGradients(part, i - 1);
    }
  }
}

}  // namespace

std::unique_ptr<GradientStep> MakeFusedStep(ResNetFC& net, const TrainingConfig& config,
                                            std::optional<bool> multiplies_first) {
  if (config.precision != Precision::kBf16) {
    return std::make_unique<FusedStep<float>>(net, config, /*multiplies_first=*/false);
  }
  return std::make_unique<FusedStep<Bf16>>(
      net, config,
      multiplies_first.value_or(MultipliesFirstLayer(config.precision, net.spec().input)));
}

}  // namespace tandem
