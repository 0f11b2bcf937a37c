// The SHA-256 of a network's weights, computed while they are written to a file.
#pragma once

#include <ATen/core/Tensor.h>
#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nn/network.h"

namespace tandem {

/// Texts for messages and the hash: "[256, 324]" and "float32".
std::string ShapeText(const at::Tensor& tensor);
std::string DtypeText(const at::Tensor& tensor);

/// HostBytes gives access to the bytes of tensors that may be on a GPU. It copies them into a
/// buffer that it uses again, because memory that is used for the first time costs more than the
/// copy.
class HostBytes {
 public:
  /// Returns the elements in row-major order. Valid until the next call, while `tensor` exists.
  std::string_view Of(const at::Tensor& tensor);

 private:
  at::Tensor CopyOf(const at::Tensor& tensor);

  at::Tensor buffer_;
};

/// Returns numbers that differ if two states of one network differ in one element of a tensor, and
/// almost always if they differ in several: for each tensor, the sum of its elements' bits, and the
/// sum of those times their places. (tensors * 2) int64, on the device of `state`, whose elements
/// have at least 32 bits. A GPU adds numbers faster than it copies them to the host.
at::Tensor SumsOfBits(const StateDict& state);

/// TensorKey is the elements that a tensor refers to. Tensors with equal keys have the same bytes.
using TensorKey = std::tuple<c10::DeviceType, c10::DeviceIndex, const void*, at::ScalarType,
                             std::vector<std::int64_t>, std::vector<std::int64_t>>;
TensorKey KeyOf(const at::Tensor& tensor);

/// WeightsHash computes WeightsSha256 (tensor_file.h) of a state dict. It can take the bytes of
/// tensors from code that reads them in the same order for another purpose.
class WeightsHash {
 public:
  /// `state` must outlive the hash.
  explicit WeightsHash(const StateDict& state);

  /// Hashes the next tensors of the state dict as long as they are empty or `tensor`, whose
  /// elements are `bytes`. Calls no operator of LibTorch, so it needs no stream.
  void Offer(const at::Tensor& tensor, std::string_view bytes);

  /// Hashes the remaining tensors and returns the hash. Call once.
  std::string Finish(HostBytes& host);

 private:
  void Add(std::string_view bytes);

  const StateDict& state_;
  std::size_t next_ = 0;
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace tandem
