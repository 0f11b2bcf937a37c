#include "train/product_meter.h"

#include <fmt/format.h>

#include <exception>

#include "base/log.h"
#include "base/machine.h"
#include "nn/device.h"
#include "nn/network.h"
#include "nn/products.h"

namespace tandem {

// A gathered first layer is no product.
ProductMeter::ProductMeter(const NetworkSpec& network, const Config& config, Device& device)
    : device_(device),
      bf16_(config.train.precision == Precision::kBf16 ||
            config.inference.precision != Precision::kFp32) {
  const NetworkCost cost = CostOf(network);
  flop_per_trained_row_ = cost.training_flop;
  flop_per_evaluated_row_ = cost.evaluation_flop;
  if (GathersInTraining(config.train, network.input, device.torch())) {
    flop_per_trained_row_ -= 2 * cost.first_layer_flop;
  }
  if (GathersInInference(config.inference, network.input, device.torch())) {
    flop_per_evaluated_row_ -= cost.first_layer_flop;
  }
}

double ProductMeter::Flop(std::int64_t evaluated_rows) const {
  return static_cast<double>(trained_rows_) * flop_per_trained_row_ +
         static_cast<double>(evaluated_rows) * flop_per_evaluated_row_;
}

void ProductMeter::ColdStartEnds(std::int64_t evaluated_rows) {
  if (!cold_flop_) cold_flop_ = Flop(evaluated_rows);
}

std::optional<ProductReport> ProductMeter::Measure(std::int64_t evaluated_rows) const {
  if (!cold_flop_) return std::nullopt;
  try {
    return ProductReport{.flop = Flop(evaluated_rows) - *cold_flop_,
                         .machine_flop_per_s = MeasureProductRate(device_, bf16_, NumCores())};
  } catch (const std::exception& error) {
    LogWarning(fmt::format("cannot measure the speed of matrix products: {}", error.what()));
    return std::nullopt;
  }
}

}  // namespace tandem
