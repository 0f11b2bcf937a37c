// A device that runs the kernels of a GPU on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "domain/permute.h"
#include "domain/permute_tile.h"
#include "nn/device.h"
#include "support/run_tiles.h"

namespace tandem {

/// DeviceWithKernel is the CPU with the kernels of a GPU as plain C++, so that tensor operations on
/// permutation puzzles call them. Its other parts are those of the CPU.
class DeviceWithKernel final : public Device {
 public:
  c10::Device torch() const override { return cpu_->torch(); }
  std::string description() const override { return "with kernel"; }
  bool has_fast_bf16() const override { return false; }
  std::unique_ptr<Stream> MainStream() override { return cpu_->MainStream(); }
  std::unique_ptr<Stream> MakeStream() override { return cpu_->MakeStream(); }
  std::vector<std::unique_ptr<TransferSlot>> MakeSlots(std::size_t count,
                                                       const std::vector<TensorSpec>& tensors,
                                                       const PrefetchConfig& config) override {
    return cpu_->MakeSlots(count, tensors, config);
  }
  void Synchronize() override {}

  std::unique_ptr<RowPermuter> MakePermuter(const PermutationTable& table) override {
    return std::make_unique<Tiles>(table);
  }

 private:
  class Tiles final : public RowPermuter {
   public:
    explicit Tiles(const PermutationTable& table)
        : num_actions_(static_cast<std::uint32_t>(table.num_actions())) {
      for (std::size_t a = 0; a < table.num_actions(); ++a) {
        const auto of_action = table.sources(static_cast<Action>(a));
        sources_.insert(sources_.end(), of_action.begin(), of_action.end());
      }
    }
    void Apply(const at::Tensor& rows, const at::Tensor& actions) const override {
      Run(rows, rows, static_cast<const Action*>(actions.const_data_ptr()), 1);
    }
    void Expand(const at::Tensor& rows, const at::Tensor& children) const override {
      Run(rows, children, nullptr, num_actions_);
    }
    void Walk(const at::Tensor& actions, const at::Tensor& places,
              const at::Tensor& rows) const override {
      const WalkJob job{.sources = sources_.data(),
                        .positions = static_cast<std::uint32_t>(rows.size(1)),
                        .actions = actions.const_data_ptr<std::int32_t>(),
                        .walks = actions.size(1),
                        .places = places.const_data_ptr<std::int64_t>(),
                        .rows = rows.size(0),
                        .to = rows.mutable_data_ptr<std::uint8_t>()};
      for (std::int64_t byte = 0; byte < rows.numel(); ++byte) job.Write(byte);
    }

   private:
    void Run(const at::Tensor& from, const at::Tensor& to, const Action* actions,
             std::uint32_t fan) const {
      RunTiles({.sources = sources_.data(),
                .positions = static_cast<std::uint32_t>(from.size(1)),
                .from = from.const_data_ptr<std::uint8_t>(),
                .to = to.mutable_data_ptr<std::uint8_t>(),
                .actions = actions,
                .rows = static_cast<std::uint64_t>(to.size(0)),
                .fan = fan});
    }

    const std::uint32_t num_actions_;
    std::vector<std::uint8_t> sources_;
  };

  const std::unique_ptr<Device> cpu_ = OpenDevice("cpu");
};

/// Opens the CPU, with or without the kernels of a GPU.
inline std::unique_ptr<Device> OpenCpu(bool with_kernel) {
  if (with_kernel) return std::make_unique<DeviceWithKernel>();
  return OpenDevice("cpu");
}

/// Names a test by its parameter, `with_kernel`.
inline std::string NameOfDevice(const testing::TestParamInfo<bool>& info) {
  return info.param ? "kernel" : "operations";
}

}  // namespace tandem
