// What fills a buffer with examples.
#pragma once

#include <cstdint>

#include "base/stop_signal.h"
#include "buffer/data_buffer.h"
#include "config/train_config.h"
#include "tandem/domain.h"

namespace tandem {

/// Floats in the label of a row: one, the state's cost-to-go; for a Q net one for each action, its
/// cost plus the child's cost-to-go (also in a goal, which needs no action).
std::size_t TargetWidth(const DomainSpec& spec, Head head);

/// The columns of an example: what the network reads, and what it is to learn.
inline constexpr std::size_t kInputColumn = 0;
inline constexpr std::size_t kTargetColumn = 1;
Schema ExampleSchema(const DomainSpec& spec, Head head = Head::kV);

/// Names global rows of buffer `update`: several processes that are asked for ranges of their own
/// make together what one would. Labels by a network are the same to the last bit if the ranges
/// are, since sums depend on what is evaluated together.
struct FillRequest {
  std::int64_t update = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

/// Makes examples. The rows are a function of the generator's options, the request and, where
/// asks_network(), the target network's weights: neither of threads nor of time.
class Generator {
 public:
  virtual ~Generator() = default;

  /// Whether the labels come from the target network.
  virtual bool asks_network() const = 0;

  /// Writes the requested rows into rows [0, request.rows) of `out`, whose schema is
  /// ExampleSchema. Blocks; one call at a time, from any one thread. Throws Stopped once `stop` is
  /// reached, and what the domain or the network throws.
  virtual void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) = 0;
};

}  // namespace tandem
