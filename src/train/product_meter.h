// Counts the matrix products of a run, and measures how fast the machine can do them.
#pragma once

#include <cstdint>
#include <optional>

#include "config/config.h"

namespace tandem {

class Device;
struct NetworkSpec;

/// ProductReport holds the matrix products that the network did after the cold start, and how
/// fast the machine can do them.
struct ProductReport {
  double flop = 0;                ///< floating-point operations, without validation
  double machine_flop_per_s = 0;  ///< of a product of large matrices at the end of the run
};

/// ProductMeter counts the products of a network that is trained and evaluated.
class ProductMeter {
 public:
  /// `device` must outlive this object. `config` must have no `auto` left.
  ProductMeter(const NetworkSpec& network, const Config& config, Device& device);

  /// Counts `rows` rows of a training step.
  void AddTrained(std::int64_t rows) { trained_rows_ += rows; }

  /// The cold start is over. `evaluated_rows` have been evaluated so far. Later calls do nothing.
  void OnColdStartEnd(std::int64_t evaluated_rows);

  /// Measures the machine, and returns the products since the cold start. `evaluated_rows` have
  /// been evaluated so far. Returns nothing if the cold start has not ended or, with a warning, if
  /// the machine cannot be measured.
  std::optional<ProductReport> Measure(std::int64_t evaluated_rows) const;

 private:
  double Flop(std::int64_t evaluated_rows) const;

  Device& device_;
  const bool bf16_;
  double flop_per_trained_row_ = 0;
  double flop_per_evaluated_row_ = 0;
  std::int64_t trained_rows_ = 0;
  std::optional<double> cold_flop_;  // when the cold start ended
};

}  // namespace tandem
