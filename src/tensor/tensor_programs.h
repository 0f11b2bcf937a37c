// The programs of tensor operations, in the memory of a device: a generator of examples, and beam
// search from end to end.
#pragma once

#include <memory>

#include "config/config.h"
#include "generate/generator.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "search/goal_ball.h"
#include "search/search.h"
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

/// Makes BeamSearch as a tensor program: states, hashes, estimates, ranks and the history stay on
/// the device. Ties are decided in the same way, so with equal estimates it keeps the same states
/// and finds the same solutions. It ranks states by path cost and estimate. With search.inverse,
/// the frontier begins with the position and its inverse, whose states share the width.
///
/// All children are hashed without being made (StateHasher), and those that are new are made a
/// batch of the network at a time. The hashes of kept states are a few sorted tensors, and those of
/// the goal or of the ball around it are one; all are searched by bisection. A child whose hash is
/// there counts as a solution only if its path, replayed on the host, leads to such a state.
///
/// Several times in each depth, the host waits for the device: to learn how many children are known
/// and new, whether one solves the puzzle, and the least estimate. search.max_gib limits the
/// tensors.
///
/// Puzzles are solved one after another. The network evaluates at most inference.batch_size states
/// at once. `domain`, `network` and `device` must outlive the result. `ball` may be null. Throws
/// InputError if the domain is not a TensorPuzzle, if search.beam_width states have more children
/// than CUDA can sort, or if search.inverse is true and the puzzle has no inverse positions.
std::unique_ptr<Search> MakeTensorBeamSearch(const Domain& domain, InferenceNet& network,
                                             const Config& config, Device& device,
                                             std::shared_ptr<const GoalBall> ball = nullptr);

}  // namespace tandem
