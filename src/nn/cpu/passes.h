// The passes over the numbers of a fused training step (fused_step.cc) or evaluation
// (fused_copy.cc), and how a pass runs with the best instruction set of this machine, all without
// LibTorch.
//
// A pass is a struct that says which numbers to read and where to write. Some are about activations
// (activation_passes.cc), the gathered first layer (gather_passes.cc), or operands of products
// (operand_passes.cc). T, the type of activations, is float or Bf16.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "config/choices.h"
#include "nn/bf16.h"

namespace tandem {

/// InstructionSet lists the instruction sets that passes have versions for, in ascending order.
/// kBaseline is what every processor of the architecture has.
enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

/// Returns the last instruction set that this machine has.
inline InstructionSet BestInstructionSet() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kBaseline;
}

/// Runs a pass on the calling thread, for the best instruction set of this machine. Results depend
/// on the instruction set, because sums over a row are split among the lanes of a register.
template <class Pass>
void RunPass(const Pass& pass);

/// Runs a pass with `set`, which this machine must have.
template <class Pass>
void RunPass(const Pass& pass, InstructionSet set);

/// AlignedVector is for numbers that vector instructions read. A read of a whole register costs
/// twice as much if it touches two cache lines.
template <class T>
using AlignedVector = std::vector<T, tbb::cache_aligned_allocator<T>>;

/// Returns a number of elements, or an index, in the type that vectors take.
inline std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

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
/// result. `mean_gradient` is its mean over the batch, and `mean_product` that of its product with
/// z.
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

/// Sums the rows of `matrix` (positions * depth, width) that belong to the features that are 1.
/// Feature depth * p + v is 1 if byte p of the row is v. T may also be a 16-bit whole number, whose
/// sums must not overflow. Where a row has most bytes in common with the row before, its sums are
/// then made from those of the row before: whole numbers give the same sums in any order.
template <class T>
struct GatherRows {
  using Sum = std::conditional_t<std::is_integral_v<T>, T, float>;
  std::int64_t rows, positions, depth, width;
  const std::uint8_t* bytes;  ///< (rows, positions)
  const T* matrix;
  Sum* sums;  ///< (rows, width)
};

/// Sorts the numbers of the rows by byte `position` of `bytes`, and equal ones in ascending order.
/// Those of byte v are in `order` from ends[v - 1], or 0, to ends[v].
struct SortRows {
  std::int64_t rows, positions, position, depth;
  const std::uint8_t* bytes;  ///< (rows, positions), each below `depth`
  std::uint32_t* order;       ///< (rows)
  std::uint32_t* ends;        ///< (depth)
};

/// Adds rows of `gradient` (rows, width) to `width` numbers of each row v of `into`, which begins
/// at v * stride: those rows that `order` and `ends`, of SortRows, give for v, in their order.
template <class T>
struct ScatterRows {
  std::int64_t depth, width, stride;
  const std::uint32_t *order, *ends;
  const T* gradient;
  float* into;

  /// The width with which it is fastest.
  static constexpr std::int64_t kBestWidth = 128;
};

/// Joins the rows of each pair of rows into a row of pairs, which is a row of 32-bit words. The
/// partner of a last odd row is 0. oneDNN's bf16 products take their second operand in this order.
struct PairRows {
  std::int64_t rows, width, from_stride;
  const Bf16* from;
  std::uint32_t* to;  ///< ((rows + 1) / 2, width)
};

/// to[column * to_stride + row] = from[row * columns + column], for 32-bit words.
struct TransposeWords {
  std::int64_t rows, columns, to_stride;
  const std::uint32_t* from;
  std::uint32_t* to;
};

/// Rounds `count` floats to bf16.
struct RoundToBf16 {
  std::int64_t count;
  const float* from;
  Bf16* to;
};

/// Adds, or sets if not `add`, the products of each number of a row of `gradient` with each number
/// of the same row of `x`, summed over the rows. Reads each row of `x` up to a multiple of 16
/// numbers.
struct SumOuterProducts {
  std::int64_t rows, units, inputs, gradient_stride, x_stride, into_stride;
  const float* gradient;  ///< `units` numbers of each row
  const float* x;         ///< `inputs` numbers of each row
  float* into;            ///< `inputs` numbers of each unit
  bool add;
};

/// Rounds from[i] * factor[i], which must lie in the range of the result, to whole numbers. The
/// result is 0 where the factor is 0.
struct RoundToIntegers {
  std::int64_t count;
  const float *from, *factor;
  std::int16_t* to;
};

/// Writes for each number of a row of `x` a whole number q from 0 to 255, so that the number is
/// about q * scale + least. If a row contains NaN or infinity, its `least` is NaN. A row of `q` has
/// `stride` bytes; those after the first `width` are set to 0.
struct QuantizeRows {
  std::int64_t rows, width, stride;
  const Bf16* x;  ///< (rows, width)
  std::uint8_t* q;
  float *scale, *least;  ///< (rows)
};

/// Computes from the product of such q with weights that are whole numbers times a scale of their
/// unit: z = sums * scale * unit_scale + least * unit_sum, the sum of a unit's weights.
struct DequantizeRows {
  std::int64_t rows, width;
  const std::int32_t* sums;            ///< (rows, width)
  const float *scale, *least;          ///< (rows)
  const float *unit_scale, *unit_sum;  ///< (width)
  float* z;                            ///< (rows, width)
};

}  // namespace tandem
