// A moving average of a network's weights.
#pragma once

#include <cstdint>
#include <memory>

#include "nn/network.h"

namespace tandem {

/// WeightAverage is an exponential moving average of the weights of a network, and of the running
/// statistics of batch normalisation. It copies tensors of whole numbers. Polyak and Juditsky
/// ("Acceleration of Stochastic Approximation by Averaging", 1992) average weights; many programs
/// use the exponential form, as Mean Teacher does (Tarvainen and Valpola, 2017).
class WeightAverage {
 public:
  /// Starts with the weights of `net`. `decay` is at least 0 and less than 1.
  WeightAverage(const Network& net, double decay);

  /// Adds the weights that `net` has after iteration `iteration`, which counts from 0 over the
  /// whole run: average = d * average + (1 - d) * weights. d is the smaller of `decay` and (1 +
  /// iteration) / (10 + iteration), so that the initial weights are forgotten soon; this is what
  /// TensorFlow's ExponentialMovingAverage does.
  void Add(const Network& net, std::int64_t iteration);

  /// The network with the averaged weights.
  const Network& net() const { return *net_; }

 private:
  std::unique_ptr<Network> net_;
  double decay_;
};

}  // namespace tandem
