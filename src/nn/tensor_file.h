// Tensors in files that Python's torch.load(weights_only=True) reads, and their fingerprint.
#pragma once

#include <ATen/core/ivalue.h>

#include <filesystem>
#include <string>

#include "nn/resnet_fc.h"

namespace tandem {

/// A dictionary from names to tensors, numbers, text and dictionaries.
using TensorDict = c10::impl::GenericDict;
TensorDict MakeTensorDict();
TensorDict ToTensorDict(const StateDict& state);

/// The same with copies of the tensors, which stay on their device.
StateDict CloneOf(const StateDict& state);

/// Writes a dictionary whole or not at all. The file ends in a hash of its contents.
void WriteTensorFile(const std::filesystem::path& path, const TensorDict& dict);

/// Reads what WriteTensorFile wrote, or Python's torch.save of a dictionary of the same kinds of
/// values. The file may be hostile: no code in it is run, LibTorch reads none of its structure, and
/// each tensor is checked against the bytes that are there before it is made (ReadTensorArchive).
/// Throws InputError that names the file.
TensorDict ReadTensorFile(const std::filesystem::path& path);

/// Copies the tensors of `from` into those of `into`, of the same names and shapes. Throws
/// InputError that begins with `name` and says which tensor is missing, unknown, of another shape
/// or not finite.
void LoadStateDict(const TensorDict& from, const StateDict& into, const std::string& name);

/// SHA-256, in hexadecimal, of the state dict's tensors in order: for each its name, a zero byte,
/// its dtype ("float32"), a zero byte, its shape ("[256, 324]"), a zero byte, and its elements as
/// little-endian bytes in row-major order.
std::string WeightsSha256(const StateDict& state);

}  // namespace tandem
