#include "nn/module.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <algorithm>

#include "tandem/error.h"

namespace tandem {
namespace {

// Adds the tensors of part `name`.
void Append(StateDict& all, const std::string& name, const StateDict& of_part) {
  for (const auto& [tensor_name, tensor] : of_part) {
    all.emplace_back(fmt::format("{}.{}", name, tensor_name), tensor);
  }
}

void Append(std::vector<at::Tensor>& all, const StateDict& own) {
  for (const auto& [name, tensor] : own) all.push_back(tensor);
}

}  // namespace

StateDict CloneOf(const StateDict& state) {
  // One operation copies all tensors of one type, because on a GPU each takes time to start.
  StateDict clone;
  std::vector<at::Tensor> from;
  std::vector<at::Tensor> to;
  for (const auto& [name, tensor] : state) {
    from.push_back(tensor.detach());
    to.push_back(at::empty_like(tensor));
    clone.emplace_back(name, to.back());
  }
  if (!to.empty()) at::_foreach_copy_(to, from);
  return clone;
}

StateDict Module::named_parameters() const {
  StateDict all = parameters_;
  for (const Part& part : parts_) Append(all, part.name, part.module->named_parameters());
  return all;
}

std::vector<at::Tensor> Module::parameters() const {
  std::vector<at::Tensor> all;
  Append(all, named_parameters());
  return all;
}

std::vector<at::Tensor> Module::buffers() const {
  std::vector<at::Tensor> all;
  Append(all, buffers_);
  for (const Part& part : parts_) {
    for (const at::Tensor& buffer : part.module->buffers()) all.push_back(buffer);
  }
  return all;
}

void Module::SetTraining(bool training) {
  training_ = training;
  for (const Part& part : parts_) part.module->SetTraining(training);
}

void Module::To(c10::Device device) {
  for (StateDict* own : {&parameters_, &buffers_}) {
    for (auto& [name, tensor] : *own) tensor.set_data(tensor.to(device));
  }
  for (const Part& part : parts_) part.module->To(device);
}

StateDict Module::State() const {
  StateDict all = parameters_;
  all.insert(all.end(), buffers_.begin(), buffers_.end());
  for (const Part& part : parts_) Append(all, part.name, part.module->State());
  return all;
}

at::Tensor Module::RegisterParameter(const std::string& name, at::Tensor tensor) {
  CheckIsNew(name);
  tensor.set_requires_grad(true);
  return parameters_.emplace_back(name, std::move(tensor)).second;
}

at::Tensor Module::RegisterBuffer(const std::string& name, at::Tensor tensor) {
  CheckIsNew(name);
  return buffers_.emplace_back(name, std::move(tensor)).second;
}

void Module::AddPart(const std::string& name, std::shared_ptr<Module> part) {
  CheckIsNew(name);
  parts_.push_back({.name = name, .module = std::move(part)});
}

void Module::CheckIsNew(const std::string& name) const {
  const auto has_name = [&](const auto& entry) { return entry.first == name; };
  if (std::ranges::any_of(parameters_, has_name) || std::ranges::any_of(buffers_, has_name) ||
      std::ranges::any_of(parts_, [&](const Part& part) { return part.name == name; })) {
    throw Error(fmt::format("a network registers two tensors or modules as '{}'", name));
  }
}

}  // namespace tandem
