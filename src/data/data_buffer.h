// A table of rows: columns of fixed width in memory that its creator provides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/error.h"
#include "tandem/rows.h"

namespace tandem {

enum class ElementType : std::uint8_t { kUint8, kFloat32 };

/// The size of an element in bytes.
std::size_t ElementSize(ElementType type);

/// "uint8" or "float32".
std::string_view NameOf(ElementType type);

/// Column describes one column: each row has `width` elements of `type`.
struct Column {
  std::string name;
  ElementType type = ElementType::kUint8;
  std::size_t width = 1;

  std::size_t row_bytes() const { return width * ElementSize(type); }
  bool operator==(const Column&) const = default;
};

/// Schema lists the columns of a table, in order.
struct Schema {
  std::vector<Column> columns;

  std::size_t row_bytes() const;
  bool operator==(const Schema&) const = default;
};

/// "input:uint8:54 target:float32:1".
std::string DescribeSchema(const Schema& schema);

/// Memory says who may read and write the bytes of a buffer.
enum class Memory : std::uint8_t {
  kHost,    ///< any code
  kDevice,  ///< only tensors on the run's device, which may be a GPU (tensor/device_rows.h)
};

/// Storage is the memory of a buffer's columns, and its owner, which frees it.
struct Storage {
  std::span<std::byte> bytes;
  std::unique_ptr<void, void (*)(void*)> owner;
  Memory memory = Memory::kHost;
};

/// LackOfMemory says that there is not enough memory for a buffer, and which size it would have.
class LackOfMemory : public Error {
 public:
  using Error::Error;
};

/// Returns make(). To a LackOfMemory that it throws, adds `advice`: "lower train.batch_size".
template <class Make>
auto WithMemoryAdvice(const std::string& advice, const Make& make) {
  try {
    return make();
  } catch (const LackOfMemory& error) {
    throw Error(error.what() + ("; " + advice));
  }
}

/// Allocates zeroed heap memory, aligned to 64 bytes. Throws LackOfMemory if there is not enough.
Storage MakeHostStorage(std::size_t bytes);

/// DataBuffer is a table of `rows` rows. Each column is contiguous and aligned to 64 bytes.
///
/// It has no locks. Threads may write different rows at the same time, and may read rows that no
/// thread writes. DoubleBuffer keeps writers and readers apart.
class DataBuffer {
 public:
  /// Throws Error if `storage` is smaller than BytesFor(schema, rows).
  DataBuffer(Schema schema, std::size_t rows, Storage storage);

  /// Allocates the storage on the heap. Throws LackOfMemory if there is not enough.
  DataBuffer(const Schema& schema, std::size_t rows);

  /// The size in bytes of the storage that `rows` rows need.
  static std::size_t BytesFor(const Schema& schema, std::size_t rows) {
    return OffsetOf(schema.columns.size(), schema, rows);
  }

  /// The offset in bytes of column `index` in the storage of `rows` rows.
  static std::size_t OffsetOf(std::size_t index, const Schema& schema, std::size_t rows);

  const Schema& schema() const { return schema_; }
  std::size_t rows() const { return rows_; }

  /// Who may follow the pointers that the methods below return.
  Memory memory() const { return storage_.memory; }

  /// All columns, including the padding between them.
  std::span<const std::byte> bytes() const {
    return storage_.bytes.first(BytesFor(schema_, rows_));
  }

  /// Column `index` as bytes, one row each. Requires index < schema().columns.size().
  Rows column(std::size_t index);
  ConstRows column(std::size_t index) const;

  /// Column `index` as floats, `width` per row. Requires type kFloat32.
  std::span<float> floats(std::size_t index);
  std::span<const float> floats(std::size_t index) const;

  /// The floats of one row of column `index`.
  std::span<float> floats(std::size_t index, std::size_t row) {
    const std::size_t width = schema_.columns[index].width;
    return {reinterpret_cast<float*>(starts_[index]) + row * width, width};
  }

 private:
  Schema schema_;
  std::size_t rows_;
  Storage storage_;
  std::vector<std::byte*> starts_;  // one per column
};

/// Copies row picked[i] of `from` to row i of `to`.
void CopyRows(ConstRows from, std::span<const std::uint32_t> picked, Rows to);

}  // namespace tandem
