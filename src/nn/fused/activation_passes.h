// The passes over the activations of a tile: what follows the product of a hidden layer, the output
// layer, and the backward passes of both. T, the type of activations, is float or Bf16. The code
// does not need LibTorch.
#pragma once

#include <cstdint>

#include "config/choices.h"
#include "nn/bf16.h"
#include "nn/fused/simd_pass.h"

namespace tandem {

/// HiddenLayer is what the passes need to know about a hidden layer. Without a normalisation,
/// `scale` is 1 and `shift` 0 for each unit.
struct HiddenLayer {
  std::int64_t width;
  Norm norm;  ///< not kBatch
  Activation activation;
  bool linear;                        ///< no activation
  const float *bias, *scale, *shift;  ///< (width)
  float epsilon;                      ///< of the normalisation, as Dense::kEpsilon
};

/// The bias, the normalisation, the residual connection and the activation of a hidden layer.
template <class T>
struct ActivateRows {
  HiddenLayer layer;
  std::int64_t rows;
  float* z;       ///< (rows, width): on input the product; on output the normalised values
  const T* skip;  ///< (rows, width), added before the activation; null for none
  float* inverse_deviation;  ///< (rows), by which the normalisation multiplied
  T* out;                    ///< (rows, width)
};

/// The backward pass of ActivateRows, with its `z` and `inverse_deviation`.
template <class T>
struct ActivateRowsBackward {
  HiddenLayer layer;
  std::int64_t rows;
  const float* z;
  const T* skip;
  const float* inverse_deviation;
  float* gradient;  ///< (rows, width): on input of the output; on output of the activation's input,
                    ///< which is also the gradient of `skip`
  T* product_gradient;                         ///< (rows, width): the gradient of the product
  float *bias_sums, *scale_sums, *shift_sums;  ///< (width): the parameters' gradients are added
};

/// ActivateRows without a residual connection, for a layer whose product is whole numbers times a
/// scale for each unit. A layer normalisation must be given as RMSNorm: the product's mean is 0.
struct ActivateSums {
  HiddenLayer layer;
  std::int64_t rows;
  const std::int16_t* sums;  ///< (rows, width)
  const float* unit_scale;   ///< (width)
  Bf16* out;                 ///< (rows, width)
};

/// The mean of each column, and the sum of the squared differences from it.
struct ColumnMoments {
  std::int64_t rows, width;
  const float* z;         ///< (rows, width)
  float *mean, *squares;  ///< (width)
};

/// The normalisation by column: z = (z - mean) * inverse_deviation.
struct NormaliseColumns {
  std::int64_t rows, width;
  const float *mean, *inverse_deviation;  ///< (width)
  float* z;                               ///< (rows, width)
};

/// The backward pass of NormaliseColumns, with its result `z`, and of the scale that follows, where
/// the mean and the deviation are those of all rows of a batch. `gradient` is that of the scale's
/// result. Its mean over the batch is `mean_gradient`, and that of its product with z is
/// `mean_product`.
template <class T>
struct NormaliseColumnsBackward {
  std::int64_t rows, width;
  const float *z, *gradient;                                              ///< (rows, width)
  const float *scale, *inverse_deviation, *mean_gradient, *mean_product;  ///< (width)
  T* product_gradient;                                                    ///< (rows, width)
};

/// The output layer.
template <class T>
struct OutputRows {
  std::int64_t rows, width, outputs;
  const T* x;  ///< (rows, width)
  const float *weight, *bias;
  float* y;  ///< (rows, outputs)
};

/// The backward pass of OutputRows.
template <class T>
struct OutputRowsBackward {
  std::int64_t rows, width, outputs;
  const T* x;
  const float *weight, *y_gradient;
  float* x_gradient;               ///< (rows, width)
  float *weight_sums, *bias_sums;  ///< the parameters' gradients are added
};

}  // namespace tandem
