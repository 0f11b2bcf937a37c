// Generators that make examples by tensor operations, in the memory of the device that trains.
#pragma once

#include <memory>

#include "config/config.h"
#include "generate/generator.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "tandem/domain.h"

namespace tandem {

/// Creates the generator of `generate.program: tensor`. Its states and walks are those of
/// MakeGenerator, bit for bit, and so are walk-length labels. Labels from a network may differ by
/// rounding. MakeBuffer gives memory of `device`, which Fill writes without copies on the host.
///
/// Threads of the CPU (generate.workers) draw the random numbers, because Philox in tensor
/// operations would take hundreds of passes over 64-bit products. The device gets four bytes per
/// step of a walk, and for each row its place in a walk (eight bytes) and its walk-length label or
/// cap (four).
///
/// `network` may be null only if the target needs no network. All arguments must outlive the
/// result. Throws InputError if the puzzle is not a TensorPuzzle.
std::unique_ptr<Generator> MakeTensorGenerator(const Domain& domain, const Config& config,
                                               InferenceNet* network, Device& device);

}  // namespace tandem
