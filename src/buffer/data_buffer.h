// A table of examples: columns of fixed width over memory that is given to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/rows.h"

namespace tandem {

enum class ElementType : std::uint8_t { kUint8, kFloat32 };

std::size_t ElementSize(ElementType type);

/// "uint8" or "float32".
std::string_view NameOf(ElementType type);

/// One column: `width` elements of a type in each row.
struct Column {
  std::string name;
  ElementType type = ElementType::kUint8;
  std::size_t width = 1;

  std::size_t row_bytes() const { return width * ElementSize(type); }
  bool operator==(const Column&) const = default;
};

/// The columns of a table, in order.
struct Schema {
  std::vector<Column> columns;

  std::size_t row_bytes() const;
  bool operator==(const Schema&) const = default;
};

/// "input:uint8:54 target:float32:1".
std::string DescribeSchema(const Schema& schema);

/// Memory that a buffer's columns lie in. Subclasses decide where it comes from: the heap, pinned
/// pages, a device, a file.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::span<std::byte> bytes() = 0;
};

/// Zeroed memory of the heap, aligned to 64 bytes. Throws Error that says how much was asked for
/// if there is not enough.
std::unique_ptr<Storage> MakeHostStorage(std::size_t bytes);

/// A file of that size in `folder`, mapped into memory: what does not fit into memory goes to its
/// disk and comes back when it is used. The file has no name and goes with the storage. Throws
/// Error that names the folder.
std::unique_ptr<Storage> MakeMappedStorage(const std::filesystem::path& folder, std::size_t bytes);

/// A table of `rows` rows. Each column is contiguous and starts on a multiple of 64 bytes.
///
/// Has no locks: threads may write different rows, or read, at the same time; DoubleBuffer keeps
/// writers and readers apart.
class DataBuffer {
 public:
  /// Requires storage->bytes().size() >= BytesFor(schema, rows).
  DataBuffer(Schema schema, std::size_t rows, std::unique_ptr<Storage> storage);

  /// On the heap.
  DataBuffer(const Schema& schema, std::size_t rows);

  static std::size_t BytesFor(const Schema& schema, std::size_t rows);

  const Schema& schema() const { return schema_; }
  std::size_t rows() const { return rows_; }

  /// All columns, with what lies between them.
  std::span<const std::byte> bytes() const {
    return storage_->bytes().first(BytesFor(schema_, rows_));
  }

  /// Where column `index` begins in bytes().
  std::size_t offset(std::size_t index) const {
    return static_cast<std::size_t>(starts_[index] - starts_.front());
  }

  /// Column `index` as bytes, one row each. Requires index < schema().columns.size().
  Rows column(std::size_t index);
  ConstRows column(std::size_t index) const;

  /// A column of floats, `width` of them a row. Requires type kFloat32.
  std::span<float> floats(std::size_t index);
  std::span<const float> floats(std::size_t index) const;

 private:
  Schema schema_;
  std::size_t rows_;
  std::unique_ptr<Storage> storage_;
  std::vector<std::byte*> starts_;  // by column
};

}  // namespace tandem
