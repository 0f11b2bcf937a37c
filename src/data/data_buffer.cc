#include "data/data_buffer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace tandem {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

std::size_t RoundUp(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::size_t ElementSize(ElementType type) {
  return type == ElementType::kUint8 ? sizeof(std::uint8_t) : sizeof(float);
}

std::string_view NameOf(ElementType type) {
  return type == ElementType::kUint8 ? "uint8" : "float32";
}

std::size_t Schema::row_bytes() const {
  std::size_t bytes = 0;
  for (const Column& column : columns) bytes += column.row_bytes();
  return bytes;
}

std::string DescribeSchema(const Schema& schema) {
  std::vector<std::string> columns;
  for (const Column& column : schema.columns) {
    columns.push_back(fmt::format("{}:{}:{}", column.name, NameOf(column.type), column.width));
  }
  return fmt::format("{}", fmt::join(columns, " "));
}

Storage MakeHostStorage(std::size_t bytes) {
  const std::size_t size = RoundUp(bytes);
  Storage storage{.owner = {std::aligned_alloc(kAlignment, size), &std::free}};
  if (storage.owner == nullptr) {
    throw LackOfMemory(fmt::format("not enough memory for a buffer of {}",
                                   HumanBytes(static_cast<double>(bytes))));
  }
  storage.bytes = {static_cast<std::byte*>(storage.owner.get()), size};
  std::ranges::fill(storage.bytes, std::byte{0});
  return storage;
}

std::size_t DataBuffer::OffsetOf(std::size_t index, const Schema& schema, std::size_t rows) {
  std::size_t bytes = 0;
  for (std::size_t c = 0; c < index; ++c) bytes += RoundUp(rows * schema.columns[c].row_bytes());
  return bytes;
}

DataBuffer::DataBuffer(Schema schema, std::size_t rows, Storage storage)
    : schema_(std::move(schema)), rows_(rows), storage_(std::move(storage)) {
  if (storage_.bytes.size() < BytesFor(schema_, rows_)) {
    throw Error(fmt::format("a buffer of {} rows needs {} bytes, but its storage has {}", rows_,
                            BytesFor(schema_, rows_), storage_.bytes.size()));
  }
  for (std::size_t c = 0; c < schema_.columns.size(); ++c) {
    starts_.push_back(storage_.bytes.data() + OffsetOf(c, schema_, rows_));
  }
}

DataBuffer::DataBuffer(const Schema& schema, std::size_t rows)
    : DataBuffer(schema, rows, MakeHostStorage(BytesFor(schema, rows))) {}

Rows DataBuffer::column(std::size_t index) {
  return {reinterpret_cast<std::uint8_t*>(starts_[index]), rows_,
          schema_.columns[index].row_bytes()};
}

ConstRows DataBuffer::column(std::size_t index) const {
  return {reinterpret_cast<const std::uint8_t*>(starts_[index]), rows_,
          schema_.columns[index].row_bytes()};
}

std::span<float> DataBuffer::floats(std::size_t index) {
  return {reinterpret_cast<float*>(starts_[index]), rows_ * schema_.columns[index].width};
}

std::span<const float> DataBuffer::floats(std::size_t index) const {
  return {reinterpret_cast<const float*>(starts_[index]), rows_ * schema_.columns[index].width};
}

void CopyRows(ConstRows from, std::span<const std::uint32_t> picked, Rows to) {
  for (std::size_t i = 0; i < picked.size(); ++i) {
    std::ranges::copy(from[picked[i]], to[i].begin());
  }
}

}  // namespace tandem
