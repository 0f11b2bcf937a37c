// Products of matrices that lie in the cache of one core, on the calling thread.
#pragma once

#include <ATen/native/CPUBlas.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nn/cpu/passes.h"

namespace tandem {

/// How many rows fused_step.cc and fused_copy.cc take together. A multiple of kRowsPerWord.
inline constexpr std::int64_t kTileRows = 64;

/// How many rows of the second operand of a product share a row of 32-bit words.
template <class T>
inline constexpr std::int64_t kRowsPerWord = 4 / static_cast<std::int64_t>(sizeof(T));

inline std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// oneDNN's product of small blocks (brgemm), which LibTorch exports: c (m, n) = a (m, k) b (k, n),
/// or += if `add`. a and b are both float (c float), both Bf16 (c float), or uint8 and int8 (c
/// int32). The elements of kRowsPerWord rows of b that are in the same column lie next to each
/// other; k is a multiple of it. lda, ldb and ldc are the numbers of elements from one row to the
/// next. An element of c has the same bits for every m: k is always run through in the same order.
template <class A, class B, class C>
void Block(std::int64_t m, std::int64_t n, std::int64_t k, const A* a, std::int64_t lda, const B* b,
           std::int64_t ldb, C* c, std::int64_t ldc, bool add) {
  constexpr bool kIsVnni = sizeof(B) < sizeof(float);  // rows share words
  if constexpr (kIsBf16<A>) {
    at::native::cpublas::brgemm(m, n, k, lda, ldb, ldc, add,
                                reinterpret_cast<const at::BFloat16*>(a),
                                reinterpret_cast<const at::BFloat16*>(b), c, kIsVnni);
  } else {
    at::native::cpublas::brgemm(m, n, k, lda, ldb, ldc, add, a, b, c, kIsVnni);
  }
}

/// Call it on each thread after its last Block of a loop: machines with AMX keep its state on.
template <class B>
void ReleaseBlocks() {
  at::native::cpublas::brgemm_release(kRowsPerWord<B> > 1);
}

/// The number of columns of a panel. The second operand of a Product is stored in panels: these
/// columns of all rows, then the next columns. Narrow panels are read from begin to end. In whole
/// rows, a block would touch a page for each row, and wide layers took three times as long.
inline constexpr std::int64_t kPanelColumns = 64;

/// How many columns the panel that begins at `column` has.
inline std::int64_t PanelWidth(std::int64_t column, std::int64_t columns,
                               std::int64_t panel_columns = kPanelColumns) {
  return std::min(panel_columns, columns - column);
}

/// A product whose second operand may exceed the caches, and has panels of `panel_rows` rows, of
/// which the first k are multiplied. At most 2,048 rows are taken together.
template <class A, class B, class C>
void Product(std::int64_t m, std::int64_t n, std::int64_t k, const A* a, std::int64_t lda,
             const B* b, std::int64_t panel_rows, C* c, bool add) {
  constexpr std::int64_t kMostInner = 2048;
  for (std::int64_t inner = 0; inner < k; inner += kMostInner) {
    for (std::int64_t column = 0; column < n; column += kPanelColumns) {
      const std::int64_t width = PanelWidth(column, n);
      Block(m, width, std::min(kMostInner, k - inner), a + inner, lda,
            b + column * panel_rows + inner * width, width, c + column, n, add || inner > 0);
    }
  }
}

/// Whether oneDNN has products of small blocks of these types for this machine, and adds products
/// of `x` and `y` without loss.
template <class A, class B, class C>
bool HasBlocks(A x, B y, C product) {
  constexpr std::int64_t kSize = 16;
  const std::vector<A> a(kSize * kSize, x);
  const std::vector<B> b(kSize * kSize, y);
  std::vector<C> c(kSize * kSize, 1);
  try {
    Block(kSize, kSize, kSize, a.data(), kSize, b.data(), kSize, c.data(), kSize, /*add=*/false);
    ReleaseBlocks<B>();
  } catch (const c10::Error&) {
    return false;
  }
  return std::ranges::count(c, kSize * product) == std::ssize(c);
}

/// Numbers as rows of 32-bit words.
template <class T>
std::uint32_t* Words(T* numbers) {
  return reinterpret_cast<std::uint32_t*>(numbers);
}
template <class T>
const std::uint32_t* Words(const T* numbers) {
  return reinterpret_cast<const std::uint32_t*>(numbers);
}

/// Writes the weights of the panel of units that begins at unit `first`, rows of `weight` (out,
/// in), as columns of `to` (in, out), the second operand of a product with these weights. In bf16,
/// `rounded` has room for kPanelColumns * in numbers and is set to those rows, and `in` is even.
template <class T>
void PackWeights(const float* weight, std::int64_t first, std::int64_t in, std::int64_t out,
                 T* rounded, T* to) {
  const float* from = weight + first * in;
  const std::int64_t count = PanelWidth(first, out);
  if constexpr (kIsBf16<T>) {
    RunPass(RoundToBf16{.count = count * in, .from = from, .to = rounded});
    RunPass(TransposeWords{.rows = count,
                           .columns = in / 2,
                           .to_stride = count,
                           .from = Words(rounded),
                           .to = Words(to + first * in)});
  } else {
    RunPass(TransposeWords{.rows = count,
                           .columns = in,
                           .to_stride = count,
                           .from = Words(from),
                           .to = Words(to + first * in)});
  }
}

/// Writes rows of `columns` numbers to panels of `panel_columns` columns and `panel_rows` rows,
/// from row `first` on.
template <class T>
void CopyToPanels(std::int64_t panel_columns, std::int64_t first, std::int64_t rows,
                  std::int64_t columns, const T* from, std::int64_t panel_rows, T* to) {
  for (std::int64_t column = 0; column < columns; column += panel_columns) {
    const std::int64_t width = PanelWidth(column, columns, panel_columns);
    T* panel = to + column * panel_rows + first * width;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(from + r * columns + column, width, panel + r * width);
    }
  }
}

/// Writes rows to a second operand of a product, as CopyToPanels does. In bf16, the rows are joined
/// in pairs, and `first` and `panel_rows` are even.
template <class T>
void PackRows(std::int64_t first, std::int64_t rows, std::int64_t columns, const T* from,
              std::int64_t panel_rows, T* to) {
  if constexpr (kIsBf16<T>) {
    for (std::int64_t column = 0; column < columns; column += kPanelColumns) {
      const std::int64_t width = PanelWidth(column, columns);
      RunPass(PairRows{.rows = rows,
                       .width = width,
                       .from_stride = columns,
                       .from = from + column,
                       .to = Words(to + column * panel_rows + first * width)});
    }
  } else {
    CopyToPanels(kPanelColumns, first, rows, columns, from, panel_rows, to);
  }
}

}  // namespace tandem
