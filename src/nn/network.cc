#include "nn/network.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eye.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "base/random.h"
#include "config/fields.h"
#include "data/examples.h"
#include "nn/device.h"
#include "nn/threads.h"
#include "tandem/error.h"

namespace tandem {

namespace {

// Adds the tensors of part `name`.
void Append(StateDict& all, const std::string& name, const StateDict& of_part) {
  for (const auto& [tensor_name, tensor] : of_part) {
    all.emplace_back(fmt::format("{}.{}", name, tensor_name), tensor);
  }
}

std::vector<at::Tensor> WithoutNames(const StateDict& state) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : state) tensors.push_back(tensor);
  return tensors;
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

StateDict Module::Select(bool (*is_wanted)(const Entry&)) const {
  StateDict all;
  for (const Entry& entry : entries_) {
    if (is_wanted(entry)) all.emplace_back(entry.name, entry.tensor);
  }
  for (const Part& part : parts_) Append(all, part.name, part.module->Select(is_wanted));
  return all;
}

StateDict Module::named_parameters() const {
  return Select([](const Entry& entry) { return entry.is_parameter; });
}

std::vector<at::Tensor> Module::parameters() const { return WithoutNames(named_parameters()); }

std::vector<at::Tensor> Module::buffers() const {
  return WithoutNames(Select([](const Entry& entry) { return !entry.is_parameter; }));
}

StateDict Module::State() const {
  return Select([](const Entry&) { return true; });
}

void Module::SetTraining(bool training) {
  training_ = training;
  for (const Part& part : parts_) part.module->SetTraining(training);
}

void Module::To(c10::Device device) {
  for (const Entry& entry : entries_) entry.tensor.set_data(entry.tensor.to(device));
  for (const Part& part : parts_) part.module->To(device);
}

at::Tensor Module::RegisterParameter(const std::string& name, at::Tensor tensor) {
  tensor.set_requires_grad(true);
  return Add({.name = name, .tensor = std::move(tensor), .is_parameter = true});
}

at::Tensor Module::RegisterBuffer(const std::string& name, at::Tensor tensor) {
  return Add({.name = name, .tensor = std::move(tensor), .is_parameter = false});
}

at::Tensor Module::Add(Entry entry) {
  CheckIsNew(entry.name);
  return entries_.emplace_back(std::move(entry)).tensor;
}

void Module::AddPart(const std::string& name, std::shared_ptr<Module> part) {
  CheckIsNew(name);
  parts_.push_back({.name = name, .module = std::move(part)});
}

void Module::CheckIsNew(const std::string& name) const {
  const auto has_name = [&](const auto& registered) { return registered.name == name; };
  if (std::ranges::any_of(entries_, has_name) || std::ranges::any_of(parts_, has_name)) {
    throw Error(fmt::format("a network registers two tensors or modules as '{}'", name));
  }
}

namespace {

using Kinds = std::map<std::string, NetworkKind, std::less<>>;

Kinds& KindRegistry() {
  static Kinds registry;
  return registry;
}

const NetworkKind& Find(std::string_view name) {
  const auto found = KindRegistry().find(name);
  if (found != KindRegistry().end()) return found->second;
  throw InputError(fmt::format(
      "`network.kind: {}`: there is no such network in this program; expected one of {}", name,
      fmt::join(NetworkKindNames(), ", ")));
}

// The inference copy of kinds without a copy of their own: a module in evaluation mode.
class ModuleCopy final : public NetworkCopy {
 public:
  ModuleCopy(const NetworkSpec& spec, const InferenceConfig& config, c10::Device device)
      : device_(device),
        bf16_(config.precision == Precision::kBf16),
        one_hot_(spec.input, WeightType(config), device),
        net_(MakeNetwork(spec, /*seed=*/0)) {
    net_->To(device);
    net_->SetTraining(false);
    for (at::Tensor& parameter : net_->parameters()) parameter.set_requires_grad(false);
  }

  void Load(const Network& net) override {
    const StateDict from = net.State();
    const StateDict into = State();
    for (std::size_t i = 0; i < from.size(); ++i) into[i].second.copy_(from[i].second);
  }

  at::Tensor Forward(const at::Tensor& bytes) override {
    CheckInputs(bytes, net_->spec().input.depth, "evaluation");
    const ScopedAutocast autocast(device_.type(), bf16_);
    return ForwardChecked(*net_, one_hot_, bytes);
  }

  StateDict State() const override { return net_->State(); }

 private:
  const c10::Device device_;
  const bool bf16_;
  OneHot one_hot_;
  const std::unique_ptr<Network> net_;
};

}  // namespace

OneHot::OneHot(InputLayout layout, at::ScalarType type, c10::Device device)
    : features_(std::int64_t{layout.positions} * layout.depth),
      rows_(at::eye(layout.depth, at::TensorOptions().dtype(at::kFloat)).to(device, type)) {}

at::Tensor OneHot::operator()(const at::Tensor& bytes) const {
  // On a CPU, gathering rows of a small table is five times as fast as comparing with 0..depth-1.
  return at::embedding(rows_, bytes.to(at::kInt)).view({bytes.size(0), features_});
}

std::int64_t NetworkSpec::action_positions() const {
  return actions == 0 ? 0 : ActionPositions(static_cast<int>(actions), input.depth);
}

std::int64_t Network::NumParameters() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

at::Tensor ForwardChecked(Network& net, const OneHot& one_hot, const at::Tensor& bytes) {
  at::Tensor outputs = net.Forward(net.reads_bytes() ? bytes : one_hot(bytes));
  const std::array<std::int64_t, 2> expected = {bytes.size(0), net.spec().outputs};
  if (outputs.defined() && std::ranges::equal(outputs.sizes(), expected)) return outputs;
  const std::string found =
      outputs.defined() ? fmt::format("a tensor of shape ({})", fmt::join(outputs.sizes(), ", "))
                        : "no tensor";
  throw Error(fmt::format(
      "network {}: Forward returned {}, expected shape ({}): a row for each state and a column for "
      "each output",
      net.spec().layers.kind, found, fmt::join(expected, ", ")));
}

void RegisterNetwork(std::string name, NetworkKind kind) {
  if (kind.make == nullptr) {
    throw Error(fmt::format("network '{}' is registered without `make`", name));
  }
  AddNetworkKindName(name);
  const auto [at, is_new] = KindRegistry().emplace(std::move(name), std::move(kind));
  if (!is_new) throw Error(fmt::format("two networks are registered as '{}'", at->first));
}

NetworkSpec NetworkFor(const NetworkConfig& config, const DomainSpec& domain) {
  NetworkSpec spec{.input = InputFor(domain, config.head),
                   .layers = config,
                   .outputs = static_cast<std::int64_t>(TargetWidth(domain, config.head)),
                   .actions = TakesAction(config.head) ? domain.num_actions() : 0,
                   .board = domain.board};
  const NetworkKind& kind = Find(config.kind);
  const std::string refusal = kind.refusal != nullptr ? kind.refusal(spec) : "";
  if (refusal.empty()) return spec;
  throw InputError(
      fmt::format("`network.kind: {}`, `domain.name: {}`: {}", config.kind, domain.name, refusal));
}

std::unique_ptr<Network> MakeNetwork(const NetworkSpec& spec, std::uint64_t seed) {
  std::unique_ptr<Network> net = Find(spec.layers.kind).make(spec, seed);
  if (net == nullptr) {
    throw Error(
        fmt::format("network {}: `make` returned null, expected a network", spec.layers.kind));
  }
  return net;
}

bool MayUseBf16(const NetworkConfig& config) { return Find(config.kind).may_use_bf16; }

std::unique_ptr<NetworkCopy> MakeNetworkCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                             const Device& device) {
  const NetworkKind& kind = Find(spec.layers.kind);
  if (kind.make_copy != nullptr) return kind.make_copy(spec, config, device);
  return std::make_unique<ModuleCopy>(spec, config, device.torch());
}

void CheckInputs(const at::Tensor& bytes, int depth, std::string_view where) {
  if (!bytes.is_cpu()) return;
  const at::Tensor rows = bytes.contiguous();
  CheckInputs(ConstRows(rows.const_data_ptr<std::uint8_t>(), static_cast<std::size_t>(rows.size(0)),
                        static_cast<std::size_t>(rows.size(1))),
              depth, where);
}

at::Generator InitialWeights(std::uint64_t seed) {
  Random random(seed, Purpose::kInitialWeights);
  return at::make_generator<at::CPUGeneratorImpl>(random.Next());
}

void DrawWeights(at::Tensor& weight, at::Tensor& bias, std::int64_t inputs,
                 at::Generator& generator) {
  const c10::NoGradGuard no_grad;
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  weight.uniform_(-bound, bound, generator);
  bias.uniform_(-bound, bound, generator);
}

at::ScalarType WeightType(const InferenceConfig& config) {
  return config.precision == Precision::kBf16 || config.precision == Precision::kFp8 ? at::kBFloat16
                                                                                     : at::kFloat;
}

}  // namespace tandem
