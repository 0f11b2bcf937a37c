#include <ATen/TensorOperators.h>
#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/timeline.h"
#include "nn/gpu/gpu_backend.h"
#include "nn/gpu/pass_runner.h"
#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "nn/training_loss.h"

namespace tandem {

namespace {

/// TensorLayer is a hidden layer: its parameters, their gradients, and what the forward pass keeps
/// of the current rows for the backward pass.
struct TensorLayer {
  LayerShape shape;  ///< `in` includes the features that are always 0
  const Dense& dense;

  /// The operands of products: (in, width) for the first layer, (width, in) for others, and
  /// (width). In the type of activations.
  at::Tensor weight, bias;

  /// In fp32. The weight has the shape of `weight`.
  DenseTensors gradients;

  /// (rows, width). z, the result of the product, is undefined unless the backward pass needs it.
  at::Tensor z = {}, y = {};
  at::Tensor mean = {}, inverse = {};  ///< the statistics of a normalisation
};

// The gradients of parameters are sums over rows, so they are in fp32. LibTorch has such products
// of bf16 matrices on GPUs only.
void SetProduct(const at::Tensor& a, const at::Tensor& b, bool add, at::Tensor& scratch,
                at::Tensor into) {
  if (a.scalar_type() == at::kFloat) {
    if (add) {
      at::addmm_out(into, into, a, b);
    } else {
      at::mm_out(into, a, b);
    }
  } else if (a.is_cuda()) {
    if (add) {
      at::addmm_out(into, into, a, b, at::kFloat);
    } else {
      at::mm_out(into, a, b, at::kFloat);
    }
  } else {
    at::Tensor rounded = scratch.narrow(0, 0, into.numel()).view(into.sizes());
    at::mm_out(rounded, a, b);
    if (add) {
      into.add_(rounded);
    } else {
      into.copy_(rounded);
    }
  }
}

template <class T>
class ResNetTensorStep final : public GradientStep {
 public:
  ResNetTensorStep(const ResNetFC& net, const TrainingConfig& config, Device& device)
      : device_(device),
        passes_(*device.passes()),
        input_(net.spec().input),
        activation_(net.spec().layers.activation),
        padding_(PaddingBefore(net.spec().features())),
        parts_(config.accumulation_steps),
        may_capture_(config.may_capture),
        loss_of_(net.spec().layers.head, config),
        parameters_(net, kIsBf16<T> ? FlatParameters::Copies::kBf16 : FlatParameters::Copies::kNone,
                    padding_),
        output_(*net.layers().back()),
        loss_(at::zeros({}, Floats())) {
    const std::vector<DenseTensors> of_products = parameters_.ByLayer(Operands());
    const std::vector<DenseTensors> gradients = parameters_.ByLayer(parameters_.gradients());
    output_gradients_ = gradients.back();
    std::int64_t most_weights = 0;
    for (std::size_t i = 0; i + 1 < gradients.size(); ++i) {
      TensorLayer& layer = layers_.emplace_back(TensorLayer{.shape = net.shapes()[i],
                                                            .dense = *net.layers()[i],
                                                            .weight = of_products[i].weight,
                                                            .bias = of_products[i].bias,
                                                            .gradients = gradients[i]});
      if (i == 0) {
        layer.weight = parameters_.FirstWeights(Operands());
        layer.gradients.weight = parameters_.FirstWeights(parameters_.gradients());
        layer.shape.in = layer.weight.size(0);
      }
      widest_ = std::max(widest_, layer.shape.out);
      most_weights = std::max(most_weights, layer.weight.numel());
    }
    mean_gradient_ = at::empty({widest_}, Floats());
    mean_product_ = at::empty({widest_}, Floats());
    if (kIsBf16<T> && device_.torch().is_cpu()) {
      scratch_ = at::empty({most_weights}, Activations());
    }
  }

  FlatParameters* flat() override { return &parameters_; }

  at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights) override {
    const Span span(Activity::kBackward);
    const c10::NoGradGuard no_grad;
    CopyBatch(inputs, targets, weights);
    parameters_.SetCopiesIfOld();
    Run(gradients_work_, [this] { RunGradients(); });
    parameters_.AttachGradients();
    return loss_;
  }

  at::Tensor Step(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights,
                  const Update& update) override {
    Optimizer& optimizer = update.optimizer;
    optimizer.SetDeviceRate(update.learning_rate);
    if (update.reduce) {
      at::Tensor loss = update.reduce(SetGradients(inputs, targets, weights));
      optimizer.StepAtDeviceRate();
      return loss;
    }
    const Span span(Activity::kBackward);
    const c10::NoGradGuard no_grad;
    CopyBatch(inputs, targets, weights);
    parameters_.SetCopiesIfOld();
    Run(step_work_, [this, &optimizer] {
      RunGradients();
      parameters_.AttachGradients();
      optimizer.StepAtDeviceRate();
    });
    return loss_;
  }

 private:
  // The block with the operands of products, which have the type of activations.
  const at::Tensor& Operands() const {
    return kIsBf16<T> ? parameters_.copies() : parameters_.values();
  }
  at::TensorOptions Activations() const { return Operands().options(); }
  at::TensorOptions Floats() const { return parameters_.values().options(); }

  // Memory for `rows_` rows of this width.
  at::Tensor RowsIn(const at::Tensor& memory, std::int64_t width) const {
    return memory.narrow(0, 0, rows_ * width).view({rows_, width});
  }

  // The input of hidden layer `i`.
  const at::Tensor& InputOf(std::size_t i) const { return i == 0 ? one_hot_ : layers_[i - 1].y; }

  // What a pass over the rows of hidden layer `i` reads.
  LayerRows<T> LayerRowsOf(std::size_t i) const {
    const TensorLayer& layer = layers_[i];
    return {.rows = rows_,
            .width = layer.shape.out,
            .norm = layer.shape.norm,
            .activation = activation_,
            .linear = layer.shape.linear,
            .z = DataOrNull<T>(layer.z),
            .skip = layer.shape.adds_skip ? DataOrNull<T>(layers_[i - 2].y) : nullptr,
            .scale = DataOrNull<float>(layer.dense.norm_weight),
            .shift = DataOrNull<float>(layer.dense.norm_bias),
            .mean = DataOrNull<float>(layer.mean),
            .inverse = DataOrNull<float>(layer.inverse),
            .epsilon = static_cast<float>(Dense::kEpsilon)};
  }

  // Copies a batch to memory that stays at the same address.
  void CopyBatch(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights) {
    CheckInputs(inputs, input_.depth, "training step");
    const bool fits = inputs_.defined() && inputs_.size(0) == inputs.size(0) &&
                      weights_.defined() == weights.defined();
    if (!fits) Reserve(inputs, targets, weights);
    inputs_.copy_(inputs);
    targets_.copy_(targets);
    if (weights.defined()) weights_.copy_(weights);
  }

  void Reserve(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights) {
    if (gradients_work_ != nullptr || step_work_ != nullptr) device_.Synchronize();
    gradients_work_ = nullptr;
    step_work_ = nullptr;
    inputs_.reset();  // set last, so that a failed allocation leaves no memory that looks complete
    rows_ = inputs.size(0) / parts_;
    targets_ = at::empty_like(targets);
    weights_ = weights.defined() ? at::empty_like(weights) : at::Tensor();
    for (TensorLayer& layer : layers_) {
      const Norm norm = layer.shape.norm;
      const std::int64_t width = layer.shape.out;
      layer.y = at::empty({rows_, width}, Activations());
      if (norm == Norm::kNone) continue;
      layer.z = at::empty({rows_, width}, Activations());
      const std::int64_t statistics = norm == Norm::kBatch ? width : rows_;
      layer.inverse = at::empty({statistics}, Floats());
      if (norm != Norm::kRms) layer.mean = at::empty({statistics}, Floats());
    }
    one_hot_ = at::empty({rows_, layers_.front().shape.in}, Activations());
    for (at::Tensor& memory : memory_) memory = at::empty({rows_ * widest_}, Activations());
    const std::int64_t blocks = (rows_ + kRowsOfColumnBlock - 1) / kRowsOfColumnBlock;
    const std::int64_t of_output = targets.size(1) * layers_.back().shape.out;
    partial_ = at::empty({blocks * std::max(3 * widest_, of_output)}, Floats());
    outputs_ = at::empty({rows_, targets.size(1)}, Floats());
    output_gradient_ = at::empty_like(outputs_);
    inputs_ = at::empty_like(inputs);
  }

  template <class Work>
  void Run(std::function<void()>& captured, Work work) {
    if (!may_capture_) return work();
    if (captured == nullptr) captured = device_.CaptureWork(work);
    captured();
  }

  void RunGradients() {
    loss_.zero_();
    at::Tensor cost_scale;
    if (weights_.defined()) cost_scale = TrainingLoss::SumOf(weights_).reciprocal();
    for (std::int64_t part = 0; part < parts_; ++part) {
      const auto rows_of = [&](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.narrow(0, part * rows_, rows_) : tensor;
      };
      Forward(rows_of(inputs_));
      loss_of_.Add({.outputs = outputs_,
                    .targets = rows_of(targets_),
                    .weights = rows_of(weights_),
                    .cost_scale = cost_scale,
                    .batch_rows = rows_ * parts_},
                   loss_, output_gradient_);
      Backward(/*add=*/part > 0);
    }
  }

  void Forward(const at::Tensor& bytes) {
    passes_.Run(OneHotPass<T>{.rows = rows_,
                              .positions = input_.positions,
                              .depth = input_.depth,
                              .padding = padding_,
                              .values = bytes.const_data_ptr<std::uint8_t>(),
                              .features = DataOrNull<T>(one_hot_)});
    for (std::size_t i = 0; i < layers_.size(); ++i) ForwardLayer(i);
    const TensorLayer& last = layers_.back();
    passes_.Run(OutputPass<T>{.rows = rows_,
                              .width = last.shape.out,
                              .outputs = outputs_.size(1),
                              .x = DataOrNull<T>(last.y),
                              .weight = DataOrNull<float>(output_.weight),
                              .bias = DataOrNull<float>(output_.bias),
                              .y = DataOrNull<float>(outputs_)});
  }

  void ForwardLayer(std::size_t i) {
    const TensorLayer& l = layers_[i];
    const LayerRows<T> rows = LayerRowsOf(i);
    const at::Tensor& x = InputOf(i);
    const at::Tensor weight = i == 0 ? l.weight : l.weight.t();
    at::Tensor y = l.y;
    if (IsReluOfProduct(l.shape, activation_)) {
      at::_addmm_activation_out(y, l.bias, x, weight);
      return;
    }
    at::Tensor z = l.z.defined() ? l.z : y;
    if (l.shape.norm == Norm::kBatch) {  // removes the bias
      at::mm_out(z, x, weight);
      SetMoments(l);
    } else {
      at::addmm_out(z, l.bias, x, weight);
    }
    if (IsProduct(l.shape)) return;
    ForwardPass<T> pass{.layer = rows,
                        .row_mean = nullptr,
                        .row_inverse = nullptr,
                        .y = DataOrNull<T>(y),
                        .quantised = nullptr,
                        .quantised_scale = nullptr};
    pass.layer.z = DataOrNull<T>(z);
    if (pass.layer.by_row()) {
      pass.row_mean = DataOrNull<float>(l.mean);
      pass.row_inverse = DataOrNull<float>(l.inverse);
    }
    passes_.Run(pass);
  }

  void SetMoments(const TensorLayer& layer) {
    const std::int64_t width = layer.shape.out;
    passes_.Run(BatchMoments<T>{.rows = rows_,
                                .width = width,
                                .z = DataOrNull<T>(layer.z),
                                .partial = DataOrNull<float>(partial_)});
    passes_.Run(FinishBatchMoments<T>{.rows = rows_,
                                      .width = width,
                                      .z = DataOrNull<T>(layer.z),
                                      .partial = DataOrNull<float>(partial_),
                                      .bias = DataOrNull<float>(layer.dense.bias),
                                      .epsilon = static_cast<float>(Dense::kEpsilon),
                                      .momentum = static_cast<float>(Dense::kMomentum),
                                      .mean = DataOrNull<float>(layer.mean),
                                      .inverse = DataOrNull<float>(layer.inverse),
                                      .running_mean = DataOrNull<float>(layer.dense.running_mean),
                                      .running_var = DataOrNull<float>(layer.dense.running_var)});
  }

  void Backward(bool add) {
    gradient_ = memory_.data();
    skip_gradient_ = &memory_[1];
    BackwardOutput(add);
    for (std::size_t i = layers_.size(); i-- > 0;) BackwardLayer(i, add);
  }

  void BackwardOutput(bool add) {
    const TensorLayer& last = layers_.back();
    const std::int64_t width = last.shape.out;
    const std::int64_t outputs = outputs_.size(1);
    passes_.Run(OutputWeightSums<T>{.rows = rows_,
                                    .width = width,
                                    .outputs = outputs,
                                    .x = DataOrNull<T>(last.y),
                                    .y_gradient = DataOrNull<float>(output_gradient_),
                                    .partial = DataOrNull<float>(partial_)});
    passes_.Run(FinishSums<1>{.rows = rows_,
                              .width = outputs * width,
                              .partial = DataOrNull<float>(partial_),
                              .add = add,
                              .gradients = {DataOrNull<float>(output_gradients_.weight)}});
    at::Tensor bias_gradient = output_gradients_.bias;
    if (add) {
      bias_gradient.add_(output_gradient_.sum(0));
    } else {
      at::sum_out(bias_gradient, output_gradient_, 0);
    }
    passes_.Run(OutputInputGradient<T>{.rows = rows_,
                                       .width = width,
                                       .outputs = outputs,
                                       .y_gradient = DataOrNull<float>(output_gradient_),
                                       .weight = DataOrNull<float>(output_.weight),
                                       .x_gradient = DataOrNull<T>(*gradient_)});
  }

  // Before, *gradient_ is the gradient of the layer's output. Between the layers of a block,
  // *skip_gradient_ is that of the block's input along the residual connection.
  void BackwardLayer(std::size_t i, bool add) {
    const TensorLayer& l = layers_[i];
    const at::Tensor of_product = GradientOfProduct(i, add);
    const at::Tensor& x = InputOf(i);
    if (i == 0) {
      SetProduct(x.t(), of_product, add, scratch_, l.gradients.weight);
      return;
    }
    SetProduct(of_product.t(), x, add, scratch_, l.gradients.weight);
    if (l.shape.begins_block) std::swap(gradient_, skip_gradient_);
    at::Tensor of_input = RowsIn(*gradient_, l.shape.in);
    if (l.shape.begins_block) {
      at::addmm_out(of_input, of_input, of_product, l.weight);
    } else {
      at::mm_out(of_input, of_product, l.weight);
    }
  }

  // Sets the gradients of the parameters except the weights.
  at::Tensor GradientOfProduct(std::size_t i, bool add) {
    const TensorLayer& l = layers_[i];
    const std::int64_t width = l.shape.out;
    const bool is_product = IsProduct(l.shape);
    const bool by_column = l.shape.norm == Norm::kBatch;
    const at::Tensor of_output = RowsIn(*gradient_, width);
    at::Tensor of_product = is_product ? of_output : RowsIn(memory_[2], width);
    const LayerGradients<T> gradients{
        .layer = LayerRowsOf(i), .y = DataOrNull<T>(l.y), .y_gradient = DataOrNull<T>(of_output)};
    const BackwardPass<T> pass{
        .gradients = gradients,
        .mean_gradient = DataOrNull<float>(mean_gradient_),
        .mean_product = DataOrNull<float>(mean_product_),
        .z_gradient = DataOrNull<T>(of_product),
        .skip_gradient = l.shape.adds_skip ? DataOrNull<T>(*skip_gradient_) : nullptr};
    if (!by_column && !is_product) passes_.Run(pass);
    passes_.Run(ColumnSums<T>{.gradients = gradients,
                              .z_gradient = by_column ? nullptr : pass.z_gradient,
                              .partial = DataOrNull<float>(partial_)});
    passes_.Run(
        FinishSums<3>{.rows = rows_,
                      .width = width,
                      .partial = DataOrNull<float>(partial_),
                      .add = add,
                      .gradients = {DataOrNull<float>(l.gradients.norm_bias),
                                    DataOrNull<float>(l.gradients.norm_weight),
                                    by_column ? nullptr : DataOrNull<float>(l.gradients.bias)},
                      .mean_gradient = by_column ? DataOrNull<float>(mean_gradient_) : nullptr,
                      .mean_product = by_column ? DataOrNull<float>(mean_product_) : nullptr});
    if (by_column) passes_.Run(pass);
    return of_product;
  }

  Device& device_;
  const PassRunner& passes_;
  const InputLayout input_;
  const Activation activation_;
  const std::int64_t padding_;  // features that are always 0
  const std::int64_t parts_;
  const bool may_capture_;
  const TrainingLoss loss_of_;
  FlatParameters parameters_;
  std::vector<TensorLayer> layers_;  // the hidden layers
  const Dense& output_;
  DenseTensors output_gradients_;
  std::int64_t widest_ = 0;  // of the hidden layers
  const at::Tensor loss_;

  // For rows_ rows, which are a part of a batch.
  std::int64_t rows_ = 0;
  at::Tensor inputs_, targets_, weights_;  // a batch
  at::Tensor one_hot_;
  std::array<at::Tensor, 3> memory_;  // two gradients of outputs, one of a product
  at::Tensor *gradient_ = nullptr, *skip_gradient_ = nullptr;
  at::Tensor partial_, mean_gradient_, mean_product_, scratch_;
  at::Tensor outputs_, output_gradient_;
  std::function<void()> gradients_work_, step_work_;  // captured; empty until the first run
};

}  // namespace

std::unique_ptr<GradientStep> MakeTensorStep(ResNetFC& net, const TrainingConfig& config,
                                             Device& device) {
  if (config.precision == Precision::kBf16) {
    return std::make_unique<ResNetTensorStep<Bf16>>(net, config, device);
  }
  return std::make_unique<ResNetTensorStep<float>>(net, config, device);
}

}  // namespace tandem
