// Loads a trained network for inference.
#pragma once

#include <filesystem>
#include <memory>

#include "config/config.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "tandem/domain.h"

namespace tandem {

/// `Model` is the network of a checkpoint, with its puzzle and an evaluator.
class Model {
 public:
  /// `config` is the run's config with the user's changes, and must have no `auto` left. Throws
  /// InputError if the checkpoint does not match it.
  Model(const std::filesystem::path& file, const Config& config, std::unique_ptr<Device> device);

  const Domain& domain() const { return *domain_; }
  TorchEvaluator& evaluator() { return *evaluator_; }
  std::int64_t iterations() const { return iterations_; }  ///< iterations it was trained for

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<const Domain> domain_;
  std::unique_ptr<FrozenNet> net_;
  std::unique_ptr<TorchEvaluator> evaluator_;
  std::int64_t iterations_ = 0;
};

}  // namespace tandem
