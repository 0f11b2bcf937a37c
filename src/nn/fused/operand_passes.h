// The passes that put the operands of products (block_products.h) into the order and the precision
// in which products take them, and the sums of outer products, a product of Tandem's own. The code
// does not need LibTorch.
#pragma once

#include <cstdint>

#include "nn/bf16.h"
#include "nn/fused/simd_pass.h"

namespace tandem {

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
/// of the same row of `x`, summed over the rows. Up to the next multiple of 16 numbers of each row
/// of `x` are read.
struct SumOuterProducts {
  std::int64_t rows, units, inputs, gradient_stride, x_stride, into_stride;
  const float* gradient;  ///< `units` numbers of each row
  const float* x;         ///< `inputs` numbers of each row
  float* into;            ///< `inputs` numbers of each unit
  bool add;
};

}  // namespace tandem
