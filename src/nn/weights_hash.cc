#include "nn/weights_hash.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tandem/error.h"

namespace tandem {

std::string ShapeText(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
}

std::string DtypeText(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return "float32";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    default:
      return c10::toString(tensor.scalar_type());
  }
}

std::string_view HostBytes::Of(const at::Tensor& tensor) {
  const bool in_place = tensor.is_cpu() && tensor.is_contiguous();
  const at::Tensor elements = in_place ? tensor : CopyOf(tensor.detach());
  return {static_cast<const char*>(elements.const_data_ptr()), elements.nbytes()};
}

at::Tensor HostBytes::CopyOf(const at::Tensor& tensor) {
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  if (!buffer_.defined() || buffer_.numel() < bytes) buffer_ = at::empty({bytes}, at::kByte);
  at::Tensor copy = buffer_.narrow(0, 0, bytes).view(tensor.scalar_type()).view(tensor.sizes());
  return copy.copy_(tensor);
}

at::Tensor SumsOfBits(const StateDict& state) {
  std::vector<at::Tensor> sums;
  sums.reserve(2 * state.size());
  for (const auto& [name, tensor] : state) {
    const at::Tensor bits = tensor.detach().reshape({-1}).view(at::kInt);
    at::Tensor places = at::arange(1, bits.numel() + 1, bits.options().dtype(at::kLong));
    sums.push_back(bits.sum());  // int64
    sums.push_back(places.mul_(bits).sum());
  }
  return at::stack(sums);
}

TensorKey KeyOf(const at::Tensor& tensor) {
  return {tensor.device().type(), tensor.device().index(), tensor.const_data_ptr(),
          tensor.scalar_type(),   tensor.sizes().vec(),    tensor.strides().vec()};
}

WeightsHash::WeightsHash(const StateDict& state)
    : state_(state), context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
    throw Error("cannot compute the SHA-256 of weights: OpenSSL cannot start the hash");
  }
}

void WeightsHash::Offer(const at::Tensor& tensor, std::string_view bytes) {
  const TensorKey key = KeyOf(tensor);
  for (; next_ < state_.size(); ++next_) {
    const at::Tensor& mine = state_[next_].second;
    if (mine.numel() != 0 && KeyOf(mine) != key) return;
    Add(mine.numel() == 0 ? std::string_view() : bytes);
  }
}

std::string WeightsHash::Finish(HostBytes& host) {
  for (; next_ < state_.size(); ++next_) Add(host.Of(state_[next_].second));
  std::vector<unsigned char> digest(EVP_MAX_MD_SIZE);
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  digest.resize(size);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

// Adds the next tensor, whose elements are `bytes`.
void WeightsHash::Add(std::string_view bytes) {
  const auto& [name, tensor] = state_[next_];
  for (const std::string& text : {name, DtypeText(tensor), ShapeText(tensor)}) {
    EVP_DigestUpdate(context_.get(), text.c_str(), text.size() + 1);
  }
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

}  // namespace tandem
