#include <cmath>

#include "nn/cpu/passes.h"
#include "nn/cpu/simd_dispatch.h"

namespace tandem {

namespace {

// ReLU (slope 0) and leaky ReLU.
struct PiecewiseLinear {
  float slope;
  TANDEM_INLINE float operator()(float x) const { return x > 0 ? x : slope * x; }
  TANDEM_INLINE float Derivative(float x) const { return x > 0 ? 1 : slope; }
};

// A row of the residual connection, or zeros.
template <class T, bool kSkip>
struct Skip {
  const T* __restrict row;
  TANDEM_INLINE float operator[](std::int64_t c) const { return kSkip ? Widen(row[c]) : 0; }
};

template <class T, bool kSkip>
TANDEM_INLINE void Forward(const ActivateRows<T>& p, const PiecewiseLinear function) {
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
template <class T, bool kSkip>
TANDEM_INLINE void Backward(const ActivateRowsBackward<T>& p, const PiecewiseLinear function) {
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

TANDEM_INLINE PiecewiseLinear ActivationOf(const HiddenLayer& layer) {
  if (layer.linear) return {1};
  return {layer.activation == Activation::kRelu ? 0 : static_cast<float>(kLeakySlope)};
}

TANDEM_INLINE void Forward(const ActivateSums& p, const PiecewiseLinear function) {
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
  const PiecewiseLinear function = ActivationOf(p.layer);
  p.skip != nullptr ? Forward<T, true>(p, function) : Forward<T, false>(p, function);
}

template <class T>
TANDEM_INLINE void Run(const ActivateRowsBackward<T>& p) {
  const PiecewiseLinear function = ActivationOf(p.layer);
  p.skip != nullptr ? Backward<T, true>(p, function) : Backward<T, false>(p, function);
}

TANDEM_INLINE void Run(const ActivateSums& p) { Forward(p, ActivationOf(p.layer)); }

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
