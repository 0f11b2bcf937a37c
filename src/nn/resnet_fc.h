// Networks of layers in a row, and the fully connected ones among them: their layers and their
// costs, and the tensors of all layers as backends need them: in one block of memory for training,
// and with batch normalisation folded into the weights for inference.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "nn/network.h"
#include "nn/threads.h"

namespace tandem {

/// NormParts says which tensors a normalisation has, with one number for each unit.
struct NormParts {
  bool scale = false, shift = false;  ///< norm_weight and norm_bias, which are trained
  bool statistics = false;            ///< running_mean and running_var
};
NormParts PartsOf(Norm norm);

/// LayerShape is the name and size of a linear layer or a convolution, and what follows it. A
/// convolution is 3x3 and keeps the size of the board; cells outside the board are 0.
struct LayerShape {
  std::string name;
  std::int64_t in, out;  ///< channels of a convolution
  Norm norm;
  bool begins_block = false;  ///< the first of the two layers of a block
  bool adds_skip = false;     ///< the second: the block's input is added to its result
  bool linear = false;        ///< no activation: the linear input layer, and the output layer
  std::int64_t cells = 0;     ///< of the board of a convolution; 0 for a linear layer

  static constexpr std::int64_t kSide = 3;

  /// The number of inputs of a unit. A unit has a weight for each input.
  std::int64_t inputs() const { return cells > 0 ? in * kSide * kSide : in; }
};

/// All layers of a ResNetFC in the order in which a row passes them. The output layer is the last.
std::vector<LayerShape> LayerShapes(const NetworkSpec& spec);

/// Appends the two layers of residual block `block`, of the size and the norm of `like`.
void AddBlock(std::int64_t block, const LayerShape& like, std::vector<LayerShape>& shapes);

/// DenseTensors are the parameters of a layer, their gradients, or copies of them. Those of
/// parameters that the layer lacks are undefined.
struct DenseTensors {
  at::Tensor weight, bias;            ///< (out, in), of a convolution (out, in, 3, 3); and (out)
  at::Tensor norm_weight, norm_bias;  ///< (out); RMSNorm has no norm_bias

  /// The names of the tensors in the order in which a network registers them.
  struct Part {
    const char* name;
    at::Tensor DenseTensors::*tensor;
  };
  static const std::array<Part, 4> kParts;
};
inline constexpr std::array<DenseTensors::Part, 4> DenseTensors::kParts = {
    {{"weight", &DenseTensors::weight},
     {"bias", &DenseTensors::bias},
     {"norm_weight", &DenseTensors::norm_weight},
     {"norm_bias", &DenseTensors::norm_bias}}};

/// Dense is a linear layer or a convolution, and its normalisation, without an activation.
class Dense final : public Module, public DenseTensors {
 public:
  explicit Dense(const LayerShape& shape);

  /// (n, in) -> (n, out), or for a convolution (n, in, rows, columns) -> (n, out, rows, columns).
  at::Tensor operator()(const at::Tensor& x);

  /// Normalises the result of the linear layer or the convolution.
  at::Tensor Normalise(const at::Tensor& y);

  at::Tensor running_mean, running_var;  ///< (out), defined for batch normalisation only

  const Norm norm;
  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;
};

/// Returns the parameters of a layer for evaluation mode. Batch normalisation is folded into the
/// weight and the bias. Other kinds of normalisation must follow them.
DenseTensors Fold(const Dense& dense);

/// GatheredFeatures computes the product of one-hot features with a matrix by adding the rows of
/// the matrix that belong to the features that are 1. For `positions` bytes of `depth` values, this
/// takes `positions` additions for each column, and the product takes positions * depth
/// multiplications and additions. Chess programs compute the first layer of their NNUE networks in
/// this way (Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions", 2018).
class GatheredFeatures {
 public:
  GatheredFeatures(InputLayout layout, c10::Device device);

  /// Maps bytes (n, positions), each below depth, and a matrix (positions * depth, m) to (n, m), in
  /// the type of the matrix. Sums are in the order of the positions, on any number of threads.
  at::Tensor operator()(const at::Tensor& bytes, const at::Tensor& matrix) const;

 private:
  at::Tensor first_;  // (positions), the feature of value 0 at each position
};

/// From so many values of a position on, gathering is faster than a product in training on a CPU.
inline constexpr int kManyValuesInTraining = 16;

/// LayeredNetwork is a network of layers in a row, with residual connections between some of them.
class LayeredNetwork : public Network {
 public:
  /// The layers and their shapes, in the order in which a row passes them.
  const std::vector<std::shared_ptr<Dense>>& layers() const { return layers_; }
  const std::vector<LayerShape>& shapes() const { return shapes_; }

 protected:
  /// Draws the initial weights as PyTorch does (DrawWeights), by `seed` alone on every device.
  LayeredNetwork(const NetworkSpec& spec, std::vector<LayerShape> shapes, std::uint64_t seed);

  /// The forward pass. `layer(i, x)` applies layer i to x.
  template <class Layer>
  at::Tensor Run(const at::Tensor& input, const Layer& layer) const;

 private:
  std::vector<LayerShape> shapes_;
  std::vector<std::shared_ptr<Dense>> layers_;
};

/// ResNetFC is a network of linear layers. Kind resnet_fc maps one-hot input through an optional
/// stem, a hidden layer and residual blocks to a linear output:
///
///     x = relu(stem(one_hot))    if stem_width > 0
///     x = relu(hidden(x))
///     x = relu(second(relu(first(x))) + x)    for each block
///     y = output(x)
///
/// With input_layer linear there is no stem, and the second line is x = input(one_hot), as in
/// DeepXube's resnet_fc. That layer has a name of its own, so that the weights show which of the
/// two networks they belong to.
///
/// Kind mlp, a multilayer perceptron, has a hidden layer in place of each residual block:
///
///     x = relu(hidden(x))        for each block
///
/// Every layer except input and output is normalised as `norm` says. With stem_width 5000, width
/// 1000 and 4 blocks, resnet_fc is the network of DeepCubeA (Agostinelli et al., 2019). The
/// networks of EfficientCube (Takano, 2023) and of CayleyPy (Chervov et al., 2025) begin with two
/// hidden layers before their residual blocks, and CayleyPy's smallest network is one hidden layer.
class ResNetFC final : public LayeredNetwork {
 public:
  ResNetFC(const NetworkSpec& spec, std::uint64_t seed)
      : LayeredNetwork(spec, LayerShapes(spec), seed) {}

  at::Tensor Forward(const at::Tensor& features) override;

  /// Maps bytes (n, positions) to the same outputs, apart from rounding, without their features.
  at::Tensor ForwardGathered(const at::Tensor& bytes, const GatheredFeatures& gathered);
};

/// Applies layer normalisation or RMSNorm, which depend on no other row. With other kinds of
/// normalisation, returns `x`. `weight` and `bias` have shape (width of x); RMSNorm uses no bias.
at::Tensor NormaliseRows(Norm norm, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias);

/// Applies the activation of the hidden layers.
at::Tensor Activate(Activation activation, const at::Tensor& x);

/// The forward pass up to the output layer, which networks and their inference copies share.
/// `layer(i, x)` applies the layer of shapes[i] to x.
template <class Layer>
at::Tensor RunHiddenLayers(std::span<const LayerShape> shapes, Activation activation, at::Tensor x,
                           const Layer& layer) {
  at::Tensor skip;  // the input of the current block
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    if (shapes[i + 1].adds_skip) skip = x;
    x = layer(i, x);
    if (shapes[i].adds_skip) x = x.add(skip);
    if (!shapes[i].linear) x = Activate(activation, x);
  }
  return x;
}

template <class Layer>
at::Tensor LayeredNetwork::Run(const at::Tensor& input, const Layer& layer) const {
  const at::Tensor hidden = RunHiddenLayers(shapes_, spec().layers.activation, input, layer);
  const ScopedAutocast full_precision(input.device().type(), /*enabled=*/false);
  return layer(layers_.size() - 1, hidden.to(layers_.back()->weight.scalar_type()));
}

/// FlatParameters moves the parameters of a network into one block of memory, so that one call of
/// the optimizer steps all of them. Their gradients, and copies of them in bf16, are blocks in the
/// same order. The weights of the first layer are stored by feature, so that they can be gathered.
/// The parameters keep their names, shapes and values.
///
/// Features that are always 0 may be added in front of the others. Their weights lie in front of
/// each block (FirstWeights). They stay 0, because optimizers step only the parameters behind them.
class FlatParameters {
 public:
  /// The room behind the last gradient, for numbers that GradientReducer exchanges with gradients.
  static constexpr std::int64_t kRoomBehindGradients = 4;

  enum class Copies { kNone, kBf16 };

  /// `net` must outlive the object and be on its device. Objects that keep addresses of parameters
  /// must be made later. The copies are not yet set.
  FlatParameters(const ResNetFC& net, Copies copies, std::int64_t padding);

  /// The parameters, and their copies, which are undefined without.
  const at::Tensor& values() const { return values_; }
  const at::Tensor& copies() const { return copies_; }

  /// The gradients, and kRoomBehindGradients numbers behind them.
  const at::Tensor& gradients() const { return gradients_; }

  /// Views of a block of their size, shaped like the parameters and in their order.
  std::vector<at::Tensor> ViewsOf(const at::Tensor& block) const;

  /// Views of one of these blocks for each layer, in the order of ResNetFC::layers.
  std::vector<DenseTensors> ByLayer(const at::Tensor& block) const;

  /// A view of the weights of the first layer in a block, by feature: (padding + features, units).
  at::Tensor FirstWeights(const at::Tensor& block) const;

  /// Makes the views of the gradients those of the network's parameters (Tensor::grad).
  void AttachGradients() const;

  /// Rounds the parameters to the copies, if there are copies. An optimizer calls it after each
  /// step, unless it has written the copies together with the parameters.
  void SetCopies();

  /// Sets the copies if they have never been set, or if an operator of LibTorch has changed a
  /// parameter since, such as when a checkpoint is loaded. The steps of the optimizer do not count.
  void SetCopiesIfOld();

 private:
  std::int64_t Versions() const;

  const ResNetFC& net_;
  const std::int64_t padding_;
  std::vector<at::Tensor> parameters_;  // of the network
  at::Tensor values_, gradients_, copies_;
  std::vector<at::Tensor> gradient_views_;
  std::int64_t copied_versions_ = -1;  // Versions when the copies were last set
};

/// FoldedLayers are the layers of an inference copy of a ResNetFC. Batch normalisation is folded
/// into the weights and biases. Tensors stay at the same address.
class FoldedLayers {
 public:
  /// Layers without tensors, which AddTensors adds.
  explicit FoldedLayers(const NetworkSpec& spec);

  /// Layers whose tensors have type `type`, except those of the output layer and of a gathered
  /// first layer, which are in fp32. The weights of a gathered first layer are stored by feature.
  /// Does not initialise the tensors.
  FoldedLayers(const NetworkSpec& spec, at::ScalarType type, bool gathers, c10::Device device);

  /// Adds the tensors of the next layer, in its shape. They may be views of larger ones.
  void AddTensors(DenseTensors tensors);

  /// The shapes, in the order of LayerShapes. The norm of a layer whose norm is folded is kNone.
  const std::vector<LayerShape>& shapes() const { return shapes_; }
  const DenseTensors& operator[](std::size_t i) const { return tensors_[i]; }

  /// Load and State are those of a NetworkCopy. Load requires a ResNetFC.
  void Load(const Network& net) const;
  const StateDict& State() const { return state_; }

  /// A counter of the writes to tensors, through Load or State, by LibTorch's operators.
  std::int64_t Version() const;

 private:
  std::vector<LayerShape> shapes_;
  std::vector<DenseTensors> tensors_;
  StateDict state_;
};

}  // namespace tandem
