#include "nn/fused/activation_passes.h"

#include <bit>
#include <cmath>
#include <optional>

#include "nn/fused/simd_dispatch.h"

namespace tandem {
namespace {

// ReLU (slope 0) and leaky ReLU.
struct PiecewiseLinear {
  float slope;
  TANDEM_INLINE float operator()(float x) const { return x > 0 ? x : slope * x; }
  TANDEM_INLINE float Derivative(float x) const { return x > 0 ? 1 : slope; }
};

// exp(x) for x up to 88, with a relative error below 1e-6. 2^n is made from its bits, and 2^f for
// -1/2 <= f <= 1/2 is a Taylor polynomial. std::exp would not be vectorised.
TANDEM_INLINE float Exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kRound = 12582912;  // 1.5 * 2^23: adding it rounds to a whole number
  const float clamped = x < -87 ? -87 : (x > 88 ? 88 : x);
  const float rounded = clamped * kLog2E + kRound;
  const float n = rounded - kRound;
  float f = clamped - n * 0.693359375F;  // ln 2 in two parts, so that the difference is exact
  f = f + n * 2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * f + 1.0F / 120;
  p = p * f + 1.0F / 24;
  p = p * f + 1.0F / 6;
  p = p * f + 0.5F;
  p = p * f + 1;
  p = p * f + 1;
  const auto bits = std::bit_cast<std::int32_t>(rounded) - std::bit_cast<std::int32_t>(kRound);
  return p * std::bit_cast<float>((bits + 127) << 23);
}

struct Silu {
  TANDEM_INLINE static float Sigmoid(float x) { return 1 / (1 + Exp(-x)); }
  TANDEM_INLINE float operator()(float x) const { return x * Sigmoid(x); }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): as those of other activations
  TANDEM_INLINE float Derivative(float x) const {
    const float s = Sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};

// A row of the residual connection, or zeros.
template <class T, bool kSkip>
struct Skip {
  const T* __restrict row;
  TANDEM_INLINE float operator[](std::int64_t c) const { return kSkip ? Widen(row[c]) : 0; }
};

template <class T, class Function, bool kSkip>
TANDEM_INLINE void Forward(const ActivateRows<T>& p, const Function function) {
  const std::int64_t width = p.layer.width;
  const float* __restrict bias = p.layer.bias;
  const float* __restrict scale = p.layer.scale;
  const float* __restrict shift = p.layer.shift;
  const auto n = static_cast<float>(width);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    float* __restrict z = p.z + r * width;
    T* __restrict out = p.out + r * width;
    const Skip<T, kSkip> skip{kSkip ? p.skip + r * width : nullptr};
    if (p.layer.norm == Norm::kNone) {
      p.inverse_deviation[r] = 1;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) {
        z[c] += bias[c];
        Narrow(function(z[c] * scale[c] + shift[c] + skip[c]), out[c]);
      }
      continue;
    }
    float mean = 0;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < width; ++c) {
      z[c] += bias[c];
      sum += z[c];
    }
    if (p.layer.norm == Norm::kLayer) mean = sum / n;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < width; ++c) squares += (z[c] - mean) * (z[c] - mean);
    const float inverse = 1 / std::sqrt(squares / n + p.layer.epsilon);
    p.inverse_deviation[r] = inverse;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      z[c] = (z[c] - mean) * inverse;
      Narrow(function(z[c] * scale[c] + shift[c] + skip[c]), out[c]);
    }
  }
}

// With n the normalised values, h the gradient of n, and <> the mean over a row, the gradient of
// the product is (h - <h> - n <h n>) / deviation for layer normalisation, the same without <h> for
// RMSNorm, and h without a normalisation.
template <class T, class Function, bool kSkip>
TANDEM_INLINE void Backward(const ActivateRowsBackward<T>& p, const Function function) {
  const std::int64_t width = p.layer.width;
  const float* __restrict scale = p.layer.scale;
  const float* __restrict shift = p.layer.shift;
  float* __restrict bias_sums = p.bias_sums;
  float* __restrict scale_sums = p.scale_sums;
  float* __restrict shift_sums = p.shift_sums;
  const auto n = static_cast<float>(width);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * width;
    float* __restrict gradient = p.gradient + r * width;
    T* __restrict out = p.product_gradient + r * width;
    const Skip<T, kSkip> skip{kSkip ? p.skip + r * width : nullptr};
    float sum = 0;
    float products = 0;
#pragma omp simd reduction(+ : sum, products)
    for (std::int64_t c = 0; c < width; ++c) {
      const float g = gradient[c] * function.Derivative(z[c] * scale[c] + shift[c] + skip[c]);
      gradient[c] = g;
      shift_sums[c] += g;
      scale_sums[c] += g * z[c];
      sum += g * scale[c];
      products += g * scale[c] * z[c];
    }
    const float mean = p.layer.norm == Norm::kLayer ? sum / n : 0;
    const float slope = p.layer.norm == Norm::kNone ? 0 : products / n;
    const float inverse = p.inverse_deviation[r];
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const float d = (gradient[c] * scale[c] - mean - z[c] * slope) * inverse;
      bias_sums[c] += d;
      Narrow(d, out[c]);
    }
  }
}

// The slope below 0 of a layer's activation, or nothing for SiLU.
TANDEM_INLINE std::optional<float> SlopeOf(const HiddenLayer& layer) {
  if (layer.linear) return 1.0F;
  switch (layer.activation) {
    case Activation::kRelu:
      return 0.0F;
    case Activation::kLeakyRelu:
      return static_cast<float>(kLeakySlope);
    case Activation::kSilu:
      break;
  }
  return std::nullopt;
}

template <class Function>
TANDEM_INLINE void Forward(const ActivateSums& p, const Function function) {
  const std::int64_t width = p.layer.width;
  const float* __restrict unit_scale = p.unit_scale;
  const float* __restrict bias = p.layer.bias;
  const float* __restrict scale = p.layer.scale;
  const float* __restrict shift = p.layer.shift;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::int16_t* __restrict sums = p.sums + r * width;
    Bf16* __restrict out = p.out + r * width;
    float inverse = 1;
    if (p.layer.norm != Norm::kNone) {
      float squares = 0;
#pragma omp simd reduction(+ : squares)
      for (std::int64_t c = 0; c < width; ++c) {
        const float z = static_cast<float>(sums[c]) * unit_scale[c] + bias[c];
        squares += z * z;
      }
      inverse = 1 / std::sqrt(squares / static_cast<float>(width) + p.layer.epsilon);
    }
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const float z = static_cast<float>(sums[c]) * unit_scale[c] + bias[c];
      Narrow(function(z * inverse * scale[c] + shift[c]), out[c]);
    }
  }
}

}  // namespace

template <class T>
TANDEM_INLINE void Run(const ActivateRows<T>& p) {
  const std::optional<float> slope = SlopeOf(p.layer);
  if (!slope) {
    p.skip != nullptr ? Forward<T, Silu, true>(p, {}) : Forward<T, Silu, false>(p, {});
    return;
  }
  const PiecewiseLinear linear{*slope};
  p.skip != nullptr ? Forward<T, PiecewiseLinear, true>(p, linear)
                    : Forward<T, PiecewiseLinear, false>(p, linear);
}

template <class T>
TANDEM_INLINE void Run(const ActivateRowsBackward<T>& p) {
  const std::optional<float> slope = SlopeOf(p.layer);
  if (!slope) {
    p.skip != nullptr ? Backward<T, Silu, true>(p, {}) : Backward<T, Silu, false>(p, {});
    return;
  }
  const PiecewiseLinear linear{*slope};
  p.skip != nullptr ? Backward<T, PiecewiseLinear, true>(p, linear)
                    : Backward<T, PiecewiseLinear, false>(p, linear);
}

TANDEM_INLINE void Run(const ActivateSums& p) {
  const std::optional<float> slope = SlopeOf(p.layer);
  if (!slope) return Forward(p, Silu{});
  Forward(p, PiecewiseLinear{*slope});
}

TANDEM_INLINE void Run(const ColumnMoments& p) {
  const auto n = static_cast<float>(p.rows);
  float* __restrict mean = p.mean;
  float* __restrict squares = p.squares;
  for (std::int64_t c = 0; c < p.width; ++c) mean[c] = squares[c] = 0;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) mean[c] += z[c];
  }
  for (std::int64_t c = 0; c < p.width; ++c) mean[c] /= n;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) squares[c] += (z[c] - mean[c]) * (z[c] - mean[c]);
  }
}

TANDEM_INLINE void Run(const NormaliseColumns& p) {
  const float* __restrict mean = p.mean;
  const float* __restrict inverse = p.inverse_deviation;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    float* __restrict z = p.z + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) z[c] = (z[c] - mean[c]) * inverse[c];
  }
}

template <class T>
TANDEM_INLINE void Run(const NormaliseColumnsBackward<T>& p) {
  const float* __restrict scale = p.scale;
  const float* __restrict inverse = p.inverse_deviation;
  const float* __restrict mean = p.mean_gradient;
  const float* __restrict slope = p.mean_product;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * p.width;
    const float* __restrict gradient = p.gradient + r * p.width;
    T* __restrict out = p.product_gradient + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) {
      Narrow((gradient[c] - mean[c] - z[c] * slope[c]) * (scale[c] * inverse[c]), out[c]);
    }
  }
}

template <class T>
TANDEM_INLINE void Run(const OutputRows<T>& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const T* __restrict x = p.x + r * p.width;
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const float* __restrict weight = p.weight + o * p.width;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t c = 0; c < p.width; ++c) sum += Widen(x[c]) * weight[c];
      p.y[r * p.outputs + o] = sum + p.bias[o];
    }
  }
}

template <class T>
TANDEM_INLINE void Run(const OutputRowsBackward<T>& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const T* __restrict x = p.x + r * p.width;
    float* __restrict gradient = p.x_gradient + r * p.width;
    for (std::int64_t c = 0; c < p.width; ++c) gradient[c] = 0;
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const float g = p.y_gradient[r * p.outputs + o];
      const float* __restrict weight = p.weight + o * p.width;
      float* __restrict sums = p.weight_sums + o * p.width;
      p.bias_sums[o] += g;
#pragma omp simd
      for (std::int64_t c = 0; c < p.width; ++c) {
        gradient[c] += g * weight[c];
        sums[c] += g * Widen(x[c]);
      }
    }
  }
}

#define TANDEM_PASSES_OF(T)                 \
  TANDEM_PASS(ActivateRows<T>);             \
  TANDEM_PASS(ActivateRowsBackward<T>);     \
  TANDEM_PASS(NormaliseColumnsBackward<T>); \
  TANDEM_PASS(OutputRows<T>);               \
  TANDEM_PASS(OutputRowsBackward<T>)
TANDEM_PASSES_OF(float);
TANDEM_PASSES_OF(Bf16);
TANDEM_PASS(ActivateSums);
TANDEM_PASS(ColumnMoments);
TANDEM_PASS(NormaliseColumns);

}  // namespace tandem
