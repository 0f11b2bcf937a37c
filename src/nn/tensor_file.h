// Files of tensors that Python's torch.load(weights_only=True) or safetensors can read, and their
// fingerprint.
#pragma once

#include <ATen/core/ivalue.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nn/network.h"

namespace tandem {

/// TensorDict maps names to tensors, numbers, text and dictionaries.
using TensorDict = c10::impl::GenericDict;
TensorDict MakeTensorDict();

/// A dictionary of the tensors of `state`. They keep their device and share their memory with it.
TensorDict ToTensorDict(const StateDict& state);

/// Writes `dict` to `path`. If that fails, the file is left as it was. The file ends with a hash of
/// its contents. Throws Error that names both amounts if the disk has too little space.
///
/// Tensors may be on any device, and are copied to the host one at a time. A tensor that occurs
/// several times is written once. While the file is written, other threads compute WeightsSha256 of
/// each state dict in `hashed`; that is cheapest if its tensors are also in `dict`, in the same
/// order. `complete` may be empty. It receives these hashes after the tensors are written, and may
/// change the numbers and texts that the file will hold, but not its tensors.
using CompleteEntries = std::function<void(TensorDict&, const std::vector<std::string>& sha256)>;
void WriteTensorFile(const std::filesystem::path& path, const TensorDict& dict,
                     const std::vector<StateDict>& hashed = {},
                     const CompleteEntries& complete = {});

/// Reads a file that WriteTensorFile wrote, or Python's torch.save from a dictionary of the same
/// kinds of values. The file may be hostile: no code in it is run, LibTorch does not parse its
/// structure, and each tensor is checked against the size of its record before it is allocated
/// (ReadTensorArchive). Throws InputError that names the file; DamagedFile if the file cannot be
/// read or its contents are wrong.
TensorDict ReadTensorFile(const std::filesystem::path& path);

/// Writes the tensors to a safetensors file. If that fails, the file is left as it was.
void WriteSafetensors(const std::filesystem::path& path, const StateDict& state,
                      const std::map<std::string, std::string>& metadata);

/// Reads a tensor file or a safetensors file, which both may be hostile. Throws InputError that
/// names the file.
TensorDict ReadWeights(const std::filesystem::path& path);

/// Copies each tensor of `from` into the tensor of the same name in `into`. Throws InputError that
/// begins with `name` and says which tensor is missing, unknown, of another shape or type, or not
/// finite.
void LoadStateDict(const TensorDict& from, const StateDict& into, const std::string& name);

/// SHA-256, in hexadecimal, of the state dict's tensors in order: for each its name, a zero byte,
/// its dtype ("float32"), a zero byte, its shape ("[256, 324]"), a zero byte, and its elements as
/// little-endian bytes in row-major order.
std::string WeightsSha256(const StateDict& state);

}  // namespace tandem
