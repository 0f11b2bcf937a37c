// The pass of a step of Adam (device_pass.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "nn/tensors/device_pass.h"

namespace tandem {

/// AdamPass takes a step of Adam or AdamW with parameters in one block of memory, and writes copies
/// of them in bf16. The number of the step and the learning rate are in the device's memory, so
/// that a captured pass can be repeated.
struct AdamPass {
  static constexpr int kStages = 1;
  static constexpr std::int64_t kPerThread = 32;
  static constexpr std::int64_t kThreads = kThreadRows * kThreadLanes;

  std::int64_t count;
  float* parameters;
  const float* gradients;
  float *mean, *mean_square;
  Bf16* copies;               ///< null for none
  const float *steps, *rate;  ///< one number each
  double beta1, beta2;
  float weight_decay, epsilon;

  PassGrid grid() const { return {pass::Ceil(count, kThreads * kPerThread), 1}; }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*stage*/, PassThread thread, float* /*shared*/) const {
    const auto correction1 = static_cast<float>(1 - pow(beta1, *steps));
    const auto correction2 = static_cast<float>(sqrt(1 - pow(beta2, *steps)));
    const float step_size = *rate / correction1;
    const auto keep1 = static_cast<float>(beta1);
    const auto keep2 = static_cast<float>(beta2);
    const auto take1 = static_cast<float>(1 - beta1);
    const auto take2 = static_cast<float>(1 - beta2);
    float* __restrict x_of = parameters;
    float* __restrict m_of = mean;
    float* __restrict v_of = mean_square;
    const float* __restrict g_of = gradients;
    const std::int64_t begin = thread.block_x * kThreads * kPerThread;
    const std::int64_t end = pass::Least(count, begin + kThreads * kPerThread);
    for (std::int64_t i = begin + thread.row * kThreadLanes + thread.lane; i < end; i += kThreads) {
      float x = x_of[i];
      const float g = g_of[i];
      x -= *rate * weight_decay * x;
      const float m = keep1 * m_of[i] + take1 * g;
      const float v = keep2 * v_of[i] + take2 * g * g;
      x -= step_size * m / (sqrtf(v) / correction2 + epsilon);
      m_of[i] = m;
      v_of[i] = v;
      x_of[i] = x;
      if (copies != nullptr) Narrow(x, copies[i]);
    }
  }
};

}  // namespace tandem
