// Buffers of rows in the memory of a device.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "data/data_buffer.h"
#include "nn/device.h"

namespace tandem {

/// Makes a buffer of zeros in the memory of `device` (Memory::kDevice). Waits until they are there,
/// so that any stream may write to the buffer.
inline DataBuffer MakeDeviceBuffer(const Schema& schema, std::size_t rows, Device& device) {
  const std::size_t bytes = DataBuffer::BytesFor(schema, rows);
  auto memory = std::make_unique<at::Tensor>(
      at::zeros({static_cast<std::int64_t>(bytes)},
                at::TensorOptions().dtype(at::kByte).device(device.torch())));
  device.Synchronize();
  auto* const data = static_cast<std::byte*>(memory->data_ptr());
  Storage storage{
      .bytes = {data, bytes},
      .owner = {memory.release(), [](void* owner) { delete static_cast<at::Tensor*>(owner); }},
      .memory = Memory::kDevice};
  return {schema, rows, std::move(storage)};
}

/// Returns column `index` as a tensor (rows, width), uint8 or float, that shares the buffer's
/// memory, which must outlive it. The tensor is on `device`, for which the buffer was made, or on
/// the CPU if the buffer is in the host's memory. It may be written only if `rows` may.
inline at::Tensor ColumnTensor(const DataBuffer& rows, std::size_t index, c10::Device device) {
  const Column& column = rows.schema().columns[index];
  const at::ScalarType type = column.type == ElementType::kUint8 ? at::kByte : at::kFloat;
  const c10::Device on = rows.memory() == Memory::kDevice ? device : c10::Device(c10::kCPU);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): tensors have no read-only memory
  auto* const data = const_cast<std::uint8_t*>(rows.column(index).data());
  return at::from_blob(
      data, {static_cast<std::int64_t>(rows.rows()), static_cast<std::int64_t>(column.width)},
      at::TensorOptions().dtype(type).device(on));
}

}  // namespace tandem
