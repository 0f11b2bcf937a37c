// Files of tensors in the safetensors format, and fingerprints of weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "nn/network.h"

namespace tandem {

using TensorMap = std::map<std::string, at::Tensor>;
using Metadata = std::map<std::string, std::string>;

/// TensorFile is the content of a file.
struct TensorFile {
  TensorMap tensors;
  Metadata metadata;
};

/// The metadata that holds the WeightsSha256 of a file.
inline constexpr const char* kWeightsSha256 = "weights_sha256";

/// Writes `weights` and `others`, whose names must differ, to `path`, and returns the WeightsSha256
/// of `weights`. The file also holds `metadata`, that SHA-256, and a hash of its contents. If
/// writing fails, the file is left as it was. Throws Error that names both amounts if there is too
/// little space.
///
/// Tensors may be on any device, and are copied to the host one at a time.
std::string WriteTensorFile(const std::filesystem::path& path, const StateDict& weights,
                            const StateDict& others = {}, const Metadata& metadata = {});

/// Reads a file that WriteTensorFile or another program wrote. The file may be hostile
/// (ReadSafetensors). Throws InputError that names the file; DamagedFile if the file cannot be read
/// or its contents are wrong.
TensorFile ReadTensorFile(const std::filesystem::path& path);

/// Copies each tensor of `from` into the tensor of the same name in `into`. Throws InputError that
/// begins with `name` and says which tensor is missing, unknown, of another shape or type, or not
/// finite.
void LoadStateDict(const TensorMap& from, const StateDict& into, const std::string& name);

/// SHA-256, in hexadecimal, of the state dict's tensors in order: for each its name, a zero byte,
/// its dtype ("float32"), a zero byte, its shape ("[256, 324]"), a zero byte, and its elements as
/// little-endian bytes in row-major order.
std::string WeightsSha256(const StateDict& state);

/// HostBytes gives access to the bytes of tensors that may be on a GPU. It copies them into one
/// buffer: memory that is used for the first time costs more than the copy.
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

}  // namespace tandem
