// NumPy arrays as rows of bytes, and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <vector>

#include "tandem/error.h"
#include "tandem/rows.h"

namespace tandem::python {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<nb::numpy, T>;

using Shape = std::vector<std::size_t>;

/// Number of rows that are worked on as one task of ForRanges.
inline constexpr std::size_t kGrain = 256;

/// The most bytes that an array can have. Differences of addresses have no larger number.
inline constexpr std::size_t kMostBytes = std::numeric_limits<std::ptrdiff_t>::max();

/// StateBatch views states that Python passed: an array of bytes of shape (n, row_size), or one
/// state of shape (row_size,). It copies them only if they are not contiguous.
class StateBatch {
 public:
  /// `what` names the argument in messages. Throws InputError if `states` has another shape or
  /// another type than uint8.
  StateBatch(nb::handle states, std::size_t row_size, const char* what = "states");

  ConstRows rows() const { return rows_; }
  std::size_t size() const { return rows_.size(); }

  /// Puts the number of states before `rest`, unless there is one state without that axis.
  Shape ShapeOf(const Shape& rest) const;

 private:
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> array_;  // owns or borrows the bytes
  ConstRows rows_;
  bool single_ = false;
};

/// Returns `array` as whole numbers of shape (count,). One number stands for `count` equal ones. An
/// empty array may have any type. Throws InputError, naming `what`, for other shapes and for
/// numbers outside of least..most.
std::vector<std::int64_t> WholeNumbers(nb::handle array, std::size_t count, std::int64_t least,
                                       std::int64_t most, const char* what);

/// WrongResult says which array a puzzle in Python returned, and what was expected.
class WrongResult : public Error {
 public:
  using Error::Error;
};

/// Copies an array of uint8 or bool that Python returned to `to`. Throws WrongResult if it has
/// another type or shape.
void CopyBytes(nb::handle array, const Shape& shape, std::span<std::uint8_t> to);

/// Returns how many elements an array of this shape has. Throws InputError that names the shape if
/// an address cannot reach all of their bytes.
std::size_t ElementCount(const Shape& shape, std::size_t element_size);

/// Raises Python's MemoryError, which names the shape.
[[noreturn]] void FailForMemory(const Shape& shape, std::size_t element_size);

/// Makes a NumPy array that owns its memory, with unspecified values. Throws InputError or raises
/// MemoryError if the memory cannot hold it.
template <class T>
Array<T> NewArray(const Shape& shape) {
  T* data = new (std::nothrow) T[ElementCount(shape, sizeof(T))];
  if (data == nullptr) FailForMemory(shape, sizeof(T));
  const nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
  return Array<T>(data, shape.size(), shape.data(), owner);
}

/// The memory of an array of bytes, as `count` rows.
inline Rows RowsOf(Array<std::uint8_t>& array, std::size_t count, std::size_t row_size) {
  return {array.data(), count, row_size};
}

}  // namespace tandem::python
