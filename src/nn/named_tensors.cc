#include "nn/named_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "nn/weights_hash.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Counts of batches, which PyTorch's batch normalisation keeps.
bool IsCount(const std::string& name) { return name.ends_with(".num_batches_tracked"); }

}  // namespace

std::string NameOfTensor(std::string name) {
  constexpr std::string_view kPrefix = "module.";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  return name;
}

std::string SomeOf(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  if (names.empty()) return "none";
  const std::size_t listed = std::min(names.size(), kMost);
  const std::string list = fmt::format("{}", fmt::join(std::span(names).first(listed), ", "));
  return listed == names.size() ? list : fmt::format("{} and {} more", list, names.size() - listed);
}

NamedTensors::NamedTensors(const StateDict& state) {
  for (const auto& [name, tensor] : state) Add(name, tensor);
}

NamedTensors::NamedTensors(const TensorDict& dict) {
  for (const auto& entry : dict) {
    const std::string name = NameOfTensor(entry.key().toStringRef());
    if (!entry.value().isTensor()) {
      throw InputError(fmt::format("'{}' is not a tensor, expected a state dict", name));
    }
    const at::Tensor& tensor = entry.value().toTensor();
    if (!tensor.is_floating_point() && !IsCount(name)) {
      throw InputError(
          fmt::format("tensor '{}' is {}, expected floating-point numbers such as float32", name,
                      DtypeText(tensor)));
    }
    if (Has(name)) {
      throw InputError(
          fmt::format("tensor '{}' occurs twice, with the prefix 'module.' and without", name));
    }
    Add(name, tensor);
  }
}

at::Tensor NamedTensors::Take(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    std::vector<std::string> others;
    for (const auto& [other, entry] : tensors_) {
      if (!entry.taken && !IsCount(other)) others.push_back(other);
    }
    throw InputError(
        fmt::format("tensor '{}' is missing; other tensors found: {}", name, SomeOf(others)));
  }
  found->second.taken = true;
  return found->second.tensor;
}

at::Tensor NamedTensors::Take(const std::string& name, at::IntArrayRef sizes) {
  at::Tensor tensor = Take(name);
  if (tensor.sizes() != sizes) {
    throw InputError(fmt::format("tensor '{}' has shape [{}], expected [{}]", name,
                                 fmt::join(tensor.sizes(), ", "), fmt::join(sizes, ", ")));
  }
  return tensor;
}

void NamedTensors::ExpectAllTaken() const {
  for (const auto& [name, entry] : tensors_) {
    if (!entry.taken && !IsCount(name)) {
      throw InputError(fmt::format("unknown tensor '{}'; expected those of resnet_fc", name));
    }
  }
}

void NamedTensors::Add(const std::string& name, const at::Tensor& tensor) {
  tensors_[name] = {.tensor = tensor.detach().cpu().to(at::kFloat)};
}

}  // namespace tandem
