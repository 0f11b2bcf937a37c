// Views of batches: `count` rows of `row_size` bytes each, contiguous in memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem {

/// BasicRows is a non-owning view of rows. It is as cheap to copy as a span. `Byte` is
/// `std::uint8_t` or `const std::uint8_t`; a mutable view converts to a constant one.
template <class Byte>
class BasicRows {
 public:
  BasicRows() = default;
  BasicRows(Byte* data, std::size_t count, std::size_t row_size)
      : data_(data), count_(count), row_size_(row_size) {}

  /// A view of a single row.
  explicit BasicRows(std::span<Byte> row) : BasicRows(row.data(), 1, row.size()) {}

  /// Converts a mutable view to a constant one.
  template <class Mutable>
  // NOLINTNEXTLINE(google-explicit-constructor)
  requires std::same_as<const Mutable, Byte> BasicRows(const BasicRows<Mutable>& other)
      : BasicRows(other.data(), other.size(), other.row_size()) {}

  std::size_t size() const { return count_; }
  std::size_t row_size() const { return row_size_; }
  bool empty() const { return count_ == 0; }
  Byte* data() const { return data_; }
  std::span<Byte> bytes() const { return {data_, count_ * row_size_}; }

  /// Row i. Requires i < size().
  std::span<Byte> operator[](std::size_t i) const { return {data_ + i * row_size_, row_size_}; }

  /// Rows [first, first + count). Requires first + count <= size().
  BasicRows Slice(std::size_t first, std::size_t count) const {
    return {data_ + first * row_size_, count, row_size_};
  }

 private:
  Byte* data_ = nullptr;
  std::size_t count_ = 0;
  std::size_t row_size_ = 0;
};

using Rows = BasicRows<std::uint8_t>;
using ConstRows = BasicRows<const std::uint8_t>;

}  // namespace tandem
