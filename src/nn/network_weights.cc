#include "nn/network_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "nn/named_tensors.h"
#include "nn/resnet_fc.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The normalisation whose tensors a layer has; `asked` if it is one of several.
Norm NormOf(const NamedTensors& tensors, const std::string& layer, Norm asked) {
  const NormParts found{.scale = tensors.Has(layer + ".norm_weight"),
                        .shift = tensors.Has(layer + ".norm_bias"),
                        .statistics = tensors.Has(layer + ".running_mean")};
  const auto fits = [&](Norm norm) { return PartsOf(norm) == found; };
  if (fits(asked)) return asked;
  const auto* const known = std::ranges::find_if(kNorms, fits, &Choice<Norm>::value);
  return known != kNorms.end() ? known->value : asked;  // LoadStateDict then names the tensor
}

// The number of units of a layer; 0 if there is no such layer.
std::int64_t UnitsOf(NamedTensors& tensors, const std::string& layer) {
  const std::string bias = layer + ".bias";
  return tensors.Has(bias) ? tensors.Take(bias).numel() : 0;
}

// A small file must not make a large network. The number of inputs of the first layer is that of
// the puzzle, so only the number of its units is checked.
void CheckFirstLayer(NamedTensors& tensors, const std::string& layer) {
  const std::int64_t units = UnitsOf(tensors, layer);
  if (units == 0) return;
  const at::Tensor weight = tensors.Take(layer + ".weight");
  if (weight.dim() == 2 && weight.size(0) == units) return;
  throw InputError(fmt::format(
      "tensor '{}.weight' has shape [{}], expected {} rows, because '{}.bias' has {} numbers",
      layer, fmt::join(weight.sizes(), ", "), units, layer, units));
}

}  // namespace

NetworkWeights FromTandem(const TensorDict& weights, const NetworkConfig& asked) {
  NamedTensors tensors(weights);
  NetworkWeights read{.layers = asked, .state = {}};
  NetworkConfig& network = read.layers;
  for (const auto& entry : weights) {
    read.state.emplace_back(NameOfTensor(entry.key().toStringRef()), entry.value().toTensor());
  }
  if (asked.kind != kResNetFc) return read;
  const bool linear = tensors.Has("input.weight");
  const bool stem = tensors.Has("hidden1.weight");
  network.input_layer = linear ? InputLayer::kLinear : InputLayer::kHidden;
  network.stem_width = stem ? UnitsOf(tensors, "hidden0") : 0;
  const std::string last = linear ? "input" : stem ? "hidden1" : "hidden0";
  network.width = std::max<std::int64_t>(UnitsOf(tensors, last), 1);
  network.blocks = 0;
  // The widths are those of matrices in the file, and not only of biases.
  const std::int64_t width = network.width;
  if (stem) tensors.Take("hidden1.weight", {width, network.stem_width});
  while (tensors.Has(BlockLayerName(network.blocks, 0) + ".weight")) {
    for (const int half : {0, 1}) {
      tensors.Take(BlockLayerName(network.blocks, half) + ".weight", {width, width});
    }
    ++network.blocks;
  }
  CheckFirstLayer(tensors, stem ? "hidden0" : last);
  network.norm = NormOf(tensors, linear ? BlockLayerName(0, 0) : last, asked.norm);
  const std::int64_t outputs = UnitsOf(tensors, "output");
  if (outputs == 1 && !TakesAction(network.head)) network.head = Head::kV;
  if (outputs > 1 && network.head == Head::kV) network.head = Head::kQ;
  return read;
}

}  // namespace tandem
