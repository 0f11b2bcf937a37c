// The generators, by the kind of their targets, for tests that make one directly.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "generate/generator.h"
#include "generate/labels.h"

namespace tandem {

/// MadeGenerator is a generator that a function made.
class MadeGenerator : public Generator {
 public:
  bool needs_network() const override { return generator_->needs_network(); }
  const Schema& schema() const override { return generator_->schema(); }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    generator_->Fill(request, out, stop);
  }
  std::optional<double> searches_solved() const override { return generator_->searches_solved(); }

 protected:
  explicit MadeGenerator(std::unique_ptr<Generator> generator) : generator_(std::move(generator)) {}

 private:
  const std::unique_ptr<Generator> generator_;
};

class WalkGenerator final : public MadeGenerator {
 public:
  WalkGenerator(const Domain& domain, const Config& config,
                std::shared_ptr<const ExactLabels> exact = nullptr)
      : MadeGenerator(MakeWalkGenerator(domain, config, std::move(exact))) {}
};

class ValueIterationGenerator final : public MadeGenerator {
 public:
  ValueIterationGenerator(const Domain& domain, Evaluator& network, const Config& config,
                          std::shared_ptr<const ExactLabels> exact = nullptr)
      : MadeGenerator(MakeValueIterationGenerator(domain, network, config, std::move(exact))) {}
};

}  // namespace tandem
