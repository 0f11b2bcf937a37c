// The interface of networks, and the registry of their kinds by name. A kind registers itself with
// one line at namespace scope; a program that embeds Tandem can do the same before it reads a
// config:
//
//     TANDEM_REGISTER_NETWORK(resnet_2d, {.make = ..., .refusal = ...});
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "tandem/domain.h"

namespace tandem {

/// StateDict is a list of names and tensors. That of a network is in the order of registration, as
/// Python's state_dict is: the tensors of a module, and then those of its parts.
using StateDict = std::vector<std::pair<std::string, at::Tensor>>;

/// A copy of `state` with copies of its tensors, on the same device.
StateDict CloneOf(const StateDict& state);

/// Module is a part of a network that owns named tensors and other modules. It has what Tandem
/// needs of torch::nn::Module, whose header is slow to compile (docs/performance.md). To use a
/// module of torch::nn as a part, register its parameters and buffers: both modules then share
/// them.
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
  virtual void To(c10::Device device);

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
  struct Entry {
    std::string name;
    at::Tensor tensor;
    bool is_parameter;
  };
  struct Part {
    std::string name;
    std::shared_ptr<Module> module;
  };

  // The tensors of the entries of which `is_wanted` returns true, with their names.
  StateDict Select(bool (*is_wanted)(const Entry&)) const;
  at::Tensor Add(Entry entry);
  void AddPart(const std::string& name, std::shared_ptr<Module> part);
  void CheckIsNew(const std::string& name) const;

  bool training_ = true;
  std::vector<Entry> entries_;
  std::vector<Part> parts_;
};

class Device;

/// OneHot encodes each byte of a row as `depth` features, one of which is 1.
class OneHot {
 public:
  OneHot(InputLayout layout, at::ScalarType type, c10::Device device);

  /// Maps (n, positions) uint8, each value below depth, to (n, positions * depth) of the type given
  /// at construction. A value v at position p sets feature depth * p + v to 1.
  at::Tensor operator()(const at::Tensor& bytes) const;

 private:
  std::int64_t features_;
  at::Tensor rows_;  // (depth, depth); row v is the encoding of v
};

/// NetworkSpec is the shape of a network.
struct NetworkSpec {
  InputLayout input;
  NetworkConfig layers;
  std::int64_t outputs = 1;
  std::int64_t actions = 0;         ///< of the puzzle if the input has one (head q_in), else 0
  std::optional<BoardShape> board;  ///< of the puzzle, if its input is a board

  /// The number of the input's positions that hold the action and, before it, the state.
  std::int64_t action_positions() const;
  std::int64_t state_positions() const { return input.positions - action_positions(); }

  std::int64_t features() const { return std::int64_t{input.positions} * input.depth; }
};

/// Network is a network in training: a module that maps encoded states to one number per output.
/// Its parameters must be registered in the order in which a forward pass uses them, and the
/// outputs must depend on all of them.
class Network : public Module {
 public:
  explicit Network(NetworkSpec spec) : spec_(std::move(spec)) {}

  /// Maps the features (n, spec().features()) that OneHot makes to (n, outputs). If reads_bytes(),
  /// maps the bytes (n, positions) themselves. Under autocast, the output layer must still run in
  /// the precision of its weights: in bf16, outputs near 20 would be multiples of 1/8, and searches
  /// would rank states by chance. May be called in training mode and in evaluation mode
  /// (`is_training`).
  virtual at::Tensor Forward(const at::Tensor& inputs) = 0;

  virtual bool reads_bytes() const { return false; }

  const NetworkSpec& spec() const { return spec_; }
  std::int64_t NumParameters() const;

 private:
  NetworkSpec spec_;
};

/// Calls net.Forward with `bytes` (n, positions) or their features, whichever it reads. Throws
/// Error that names both shapes if the outputs are not (n, outputs), because the loss would spread
/// another shape over its targets.
at::Tensor ForwardChecked(Network& net, const OneHot& one_hot, const at::Tensor& bytes);

/// NetworkCopy is a copy of a network's weights for inference, which InferenceNet evaluates. Its
/// tensors stay at the same address.
class NetworkCopy {
 public:
  virtual ~NetworkCopy() = default;

  /// Copies the weights of `net`, which has the kind and the spec of this copy.
  virtual void Load(const Network& net) = 0;

  /// Maps bytes (n, positions) on the device to (n, outputs) in fp32, without gradients. The
  /// outputs have memory of their own, to which later calls do not write. Not const, because a copy
  /// may keep its working memory, and what it made from the weights, between calls.
  /// One call at a time, and none while another thread writes the weights. Checks `bytes`
  /// (CheckInputs).
  virtual at::Tensor Forward(const at::Tensor& bytes) = 0;

  /// The weights, by name. The tensors are not copies, so writing to them changes this object.
  virtual StateDict State() const = 0;

  /// Whether the outputs of a row have the same bits in every batch.
  virtual bool rows_are_independent() const { return false; }
};

/// NetworkKind has the functions of one kind of network.
struct NetworkKind {
  /// Makes a network on the CPU. Its initial weights depend on the spec and the seed only.
  std::function<std::unique_ptr<Network>(const NetworkSpec& spec, std::uint64_t seed)> make;

  /// Returns why this kind cannot be used for `spec` and what to do, or "". Null: it always can.
  std::function<std::string(const NetworkSpec& spec)> refusal = nullptr;

  /// Makes the inference copy of the reference backend (nn/backend.h) on `device`, which must
  /// outlive it, without initialising it. Null: a module that `make` made is evaluated in
  /// evaluation mode, under autocast if the precision is bf16.
  std::function<std::unique_ptr<NetworkCopy>(const NetworkSpec& spec, const InferenceConfig& config,
                                             const Device& device)>
      make_copy = nullptr;

  /// Whether `precision: auto` may mean bf16, because the output layer runs in the precision of its
  /// weights under autocast.
  bool may_use_bf16 = true;
};

/// Registers a kind of network under `name`, which `network.kind` then accepts. Call it from one
/// thread, either before main or before a config is read. Throws Error if the name is taken, or if
/// `make` is null.
void RegisterNetwork(std::string name, NetworkKind kind);

/// The shape of the network that `config` describes, for puzzle `domain`. Throws InputError if
/// there is no such kind (the message lists the known kinds) or if it cannot be used for the puzzle
/// (the message says why).
NetworkSpec NetworkFor(const NetworkConfig& config, const DomainSpec& domain);

/// These call the functions of the kind that `spec` names. They throw InputError if there is none,
/// and MakeNetwork throws Error if `make` returns null.
std::unique_ptr<Network> MakeNetwork(const NetworkSpec& spec, std::uint64_t seed);
bool MayUseBf16(const NetworkConfig& config);
std::unique_ptr<NetworkCopy> MakeNetworkCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                             const Device& device);

/// Throws Error that names the first row of `bytes` (n, positions) with a byte that is not below
/// `depth`. `where` says what the rows are for: "evaluation". Does nothing on a GPU, where the host
/// would have to wait for the result.
void CheckInputs(const at::Tensor& bytes, int depth, std::string_view where);

/// The generator of the initial weights of a network.
at::Generator InitialWeights(std::uint64_t seed);

/// Draws the weights and biases of a layer as PyTorch's nn.Linear and nn.Conv2d do: uniform between
/// -1/sqrt(inputs) and 1/sqrt(inputs), where `inputs` is the number of inputs of each unit.
void DrawWeights(at::Tensor& weight, at::Tensor& bias, std::int64_t inputs,
                 at::Generator& generator);

/// Returns the type of the weights of hidden layers in an inference copy.
at::ScalarType WeightType(const InferenceConfig& config);

}  // namespace tandem

/// Registers the kind of network when the program starts.
#define TANDEM_REGISTER_NETWORK(name, ...)                  \
  static const bool tandem_registered_network_##name = [] { \
    ::tandem::RegisterNetwork(#name, __VA_ARGS__);          \
    return true;                                            \
  }()
