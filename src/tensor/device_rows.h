// Buffers of rows in the memory of a device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>

#include "data/data_buffer.h"
#include "nn/device.h"

namespace tandem {

/// Makes a buffer of zeros in the memory of `device` (Memory::kDevice). Waits until they are there,
/// so that any stream may write to the buffer.
DataBuffer MakeDeviceBuffer(const Schema& schema, std::size_t rows, Device& device);

/// Returns column `index` as a tensor (rows, width), uint8 or float, that shares the buffer's
/// memory. The tensor is on `device`, which must be the one that the buffer was made for, or on the
/// CPU if the buffer is in the host's memory. It may be written only if `rows` may. The memory must
/// outlive it.
at::Tensor ColumnTensor(const DataBuffer& rows, std::size_t index, c10::Device device);

}  // namespace tandem
