// Tensors of a file by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "nn/network.h"
#include "nn/tensor_file.h"

namespace tandem {

/// Returns `name`, of a tensor in a file, without the prefix "module." that PyTorch's DataParallel
/// adds.
std::string NameOfTensor(std::string name);

/// Lists names for a message: "none", or the first few of them and how many there are more.
std::string SomeOf(const std::vector<std::string>& names);

/// NamedTensors are the tensors of a network by name, on the CPU in fp32. It remembers which were
/// taken, so that a reader can refuse those that it does not know.
class NamedTensors {
 public:
  explicit NamedTensors(const StateDict& state);

  /// The names are those of NameOfTensor. Throws InputError if an entry is no tensor, if a tensor
  /// of whole numbers is no count that only training needs, or if two tensors have the same name.
  explicit NamedTensors(const TensorDict& dict);

  bool Has(const std::string& name) const { return tensors_.contains(name); }

  /// Returns a tensor. Throws InputError if it has another shape than `sizes`, or if it is missing:
  /// the message then lists the tensors that are there and were not taken.
  at::Tensor Take(const std::string& name);
  at::Tensor Take(const std::string& name, at::IntArrayRef sizes);

  /// Throws InputError if tensors remain, except counts that only training needs.
  void ExpectAllTaken() const;

 private:
  struct Entry {
    at::Tensor tensor;
    bool taken = false;
  };

  void Add(const std::string& name, const at::Tensor& tensor);

  std::map<std::string, Entry> tensors_;
};

}  // namespace tandem
