#include "loaders/shuffled_rows.h"

#include <ATen/ops/index_select.h>

#include <algorithm>

namespace tandem {

Batch ShuffledRows::Take(std::int64_t most) {
  const std::int64_t count = std::min(most, left());
  const at::Tensor picked = order.narrow(0, next, count);
  Batch batch{.inputs = at::index_select(inputs, 0, picked),
              .targets = at::index_select(targets, 0, picked)};
  if (weights.defined()) batch.weights = at::index_select(weights, 0, picked);
  next += count;
  return batch;
}

}  // namespace tandem
