#include "nn/one_hot.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/eye.h>

namespace tandem {

OneHot::OneHot(InputLayout layout, at::ScalarType type, c10::Device device)
    : features_(std::int64_t{layout.positions} * layout.depth),
      rows_(at::eye(layout.depth, at::TensorOptions().dtype(at::kFloat)).to(device, type)) {}

at::Tensor OneHot::operator()(const at::Tensor& bytes) const {
  // On a CPU, gathering rows of a small table is five times as fast as comparing with 0..depth-1.
  return at::embedding(rows_, bytes.to(at::kInt)).view({bytes.size(0), features_});
}

}  // namespace tandem
