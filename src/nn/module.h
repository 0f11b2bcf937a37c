// The tensors of a network by name, in a tree of modules as in PyTorch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

/// StateDict is a list of names and tensors in the order of Python's state_dict: parameters, then
/// buffers, then children.
using StateDict = std::vector<std::pair<std::string, at::Tensor>>;

/// A copy of `state` with copies of its tensors, on the same device.
StateDict CloneOf(const StateDict& state);

/// Module is a part of a network that owns named tensors and other modules. It has what Tandem
/// needs of torch::nn::Module, whose header is slow to compile (results/other/torch_headers.json).
/// To use a module of torch::nn as a part, register its parameters and buffers: both modules then
/// share them.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;

  /// The tensors that training changes: this module's in the order of registration, then those of
  /// its parts. The name of a part's tensor is "part.tensor".
  StateDict named_parameters() const;
  std::vector<at::Tensor> parameters() const;

  /// The tensors that a forward pass changes in training mode, such as running means.
  std::vector<at::Tensor> buffers() const;

  /// Modules start in training mode. Some layers compute something else in evaluation mode.
  bool is_training() const { return training_; }
  void SetTraining(bool training);

  /// Moves all tensors. Those that were read before stay valid and move too.
  void To(c10::Device device);

  /// All tensors, with their names.
  StateDict State() const;

 protected:
  /// These return what they register. They throw Error if the name is taken.
  at::Tensor RegisterParameter(const std::string& name, at::Tensor tensor);
  at::Tensor RegisterBuffer(const std::string& name, at::Tensor tensor);

  template <class Part>
  std::shared_ptr<Part> RegisterModule(const std::string& name, std::shared_ptr<Part> part) {
    AddPart(name, part);
    return part;
  }

 private:
  struct Part {
    std::string name;
    std::shared_ptr<Module> module;
  };

  void AddPart(const std::string& name, std::shared_ptr<Module> part);
  void CheckIsNew(const std::string& name) const;

  bool training_ = true;
  StateDict parameters_, buffers_;
  std::vector<Part> parts_;
};

}  // namespace tandem
