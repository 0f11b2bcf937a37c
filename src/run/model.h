// A trained network, ready to be asked.
#pragma once

#include <filesystem>
#include <memory>

#include "config/train_config.h"
#include "nn/device.h"
#include "nn/frozen_net.h"
#include "nn/torch_evaluator.h"
#include "tandem/domain.h"

namespace tandem {

/// The network of a checkpoint. `config` is the run's own, with what is to be otherwise
/// already changed, and no `auto` left. Throws InputError if the checkpoint does not fit it.
class Model {
 public:
  Model(const std::filesystem::path& file, const TrainConfig& config,
        std::unique_ptr<Device> device);

  const Domain& domain() const { return *domain_; }
  TorchEvaluator& evaluator() { return *evaluator_; }
  std::int64_t iterations() const { return iterations_; }  ///< that it was trained for

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<const Domain> domain_;
  std::unique_ptr<FrozenNet> net_;
  std::unique_ptr<TorchEvaluator> evaluator_;
  std::int64_t iterations_ = 0;
};

}  // namespace tandem
