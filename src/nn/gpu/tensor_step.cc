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

  /// The operands of products: (in, width) for the first layer, (width, in) for others, and
  /// (width). In the type of activations.
  at::Tensor weight, bias;

  /// In fp32. The weight of `gradients` has the shape of `weight`.
  DenseTensors parameters, gradients;

  at::Tensor running_mean, running_var;  ///< (width), defined with batch normalisation

  /// (rows, width). z, the result of the product, is undefined if the backward pass does not need
  /// it.
  at::Tensor z, y;
  at::Tensor mean, inverse;  ///< the statistics of a normalisation
};

/// TensorOutputLayer is the output layer.
struct TensorOutputLayer {
  DenseTensors parameters, gradients;
};

/// TensorLayers are the layers of a ResNetFC. Activations have the type of the copies of its
/// parameters or, if there are none, of the parameters.
class TensorLayers {
 public:
  /// `parameters` are those of `net`, and must outlive the layers.
  TensorLayers(const ResNetFC& net, const FlatParameters& parameters);

  /// The hidden layers.
  std::size_t size() const { return hidden_.size(); }
  const TensorLayer& operator[](std::size_t i) const { return hidden_[i]; }
  const TensorLayer& front() const { return hidden_.front(); }
  const TensorLayer& back() const { return hidden_.back(); }

  const TensorOutputLayer& output() const { return output_; }

  /// The type of activations, and the greatest width and number of weights of a hidden layer.
  at::TensorOptions options() const { return options_; }
  std::int64_t widest() const { return widest_; }
  std::int64_t most_weights() const { return most_weights_; }

  /// Allocates what the forward pass keeps of `rows` rows.
  void Reserve(std::int64_t rows);

  /// What a pass over the rows of layer `i` reads. T is the type of activations.
  template <class T>
  LayerRows<T> RowsOf(std::size_t i) const {
    const TensorLayer& layer = hidden_[i];
    return {.rows = layer.y.size(0),
            .width = layer.shape.out,
            .norm = layer.shape.norm,
            .activation = activation_,
            .linear = layer.shape.linear,
            .z = DataOrNull<T>(layer.z),
            .skip = layer.shape.adds_skip ? DataOrNull<T>(hidden_[i - 2].y) : nullptr,
            .scale = DataOrNull<float>(layer.parameters.norm_weight),
            .shift = DataOrNull<float>(layer.parameters.norm_bias),
            .mean = DataOrNull<float>(layer.mean),
            .inverse = DataOrNull<float>(layer.inverse),
            .epsilon = static_cast<float>(Dense::kEpsilon)};
  }

 private:
  const Activation activation_;
  at::TensorOptions options_;
  std::vector<TensorLayer> hidden_;
  TensorOutputLayer output_;
  std::int64_t widest_ = 0, most_weights_ = 0;
};

TensorLayers::TensorLayers(const ResNetFC& net, const FlatParameters& parameters)
    : activation_(net.spec().layers.activation) {
  const at::Tensor& operands =
      parameters.copies().defined() ? parameters.copies() : parameters.values();
  options_ = operands.options();
  const std::vector<DenseTensors> of_products = parameters.ByLayer(operands);
  const std::vector<DenseTensors> values = parameters.ByLayer(parameters.values());
  const std::vector<DenseTensors> gradients = parameters.ByLayer(parameters.gradients());
  const std::vector<LayerShape>& shapes = net.shapes();
  hidden_.reserve(shapes.size() - 1);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const Dense& dense = *net.layers()[i];
    TensorLayer layer{.shape = shapes[i],
                      .weight = of_products[i].weight,
                      .bias = of_products[i].bias,
                      .parameters = values[i],
                      .gradients = gradients[i],
                      .running_mean = dense.running_mean,
                      .running_var = dense.running_var};
    if (i == 0) {
      layer.weight = parameters.FirstWeights(operands);
      layer.gradients.weight = parameters.FirstWeights(parameters.gradients());
      layer.shape.in = layer.weight.size(0);
    }
    widest_ = std::max(widest_, layer.shape.out);
    most_weights_ = std::max(most_weights_, layer.weight.numel());
    hidden_.push_back(std::move(layer));
  }
  output_ = {.parameters = values.back(), .gradients = gradients.back()};
}

void TensorLayers::Reserve(std::int64_t rows) {
  const auto floats = options_.dtype(at::kFloat);
  for (TensorLayer& layer : hidden_) {
    const Norm norm = layer.shape.norm;
    const std::int64_t width = layer.shape.out;
    layer.y = at::empty({rows, width}, options_);
    if (norm == Norm::kNone) continue;
    layer.z = at::empty({rows, width}, options_);
    const std::int64_t statistics = norm == Norm::kBatch ? width : rows;
    layer.inverse = at::empty({statistics}, floats);
    if (norm != Norm::kRms) layer.mean = at::empty({statistics}, floats);
  }
}

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
  ResNetTensorStep(ResNetFC& net, const TrainingConfig& config, Device& device)
      : device_(device),
        passes_(*device.passes()),
        input_(net.spec().input),
        padding_(PaddingBefore(net.spec().features())),
        parts_(config.accumulation_steps),
        may_capture_(config.may_capture),
        loss_of_(net.spec().layers.head, config),
        parameters_(net, kIsBf16<T> ? FlatParameters::Copies::kBf16 : FlatParameters::Copies::kNone,
                    padding_),
        layers_(net, parameters_),
        loss_(at::zeros({}, Floats())),
        mean_gradient_(at::empty({layers_.widest()}, Floats())),
        mean_product_(at::empty({layers_.widest()}, Floats())) {
    if (kIsBf16<T> && device_.torch().is_cpu()) {
      scratch_ = at::empty({layers_.most_weights()}, layers_.options());
    }
  }

  FlatParameters* flat() override { return &parameters_; }

  void UseOptimizer(Optimizer& optimizer) override { optimizer.UseFlat(parameters_, passes_); }

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
  at::TensorOptions Floats() const {
    return at::TensorOptions().dtype(at::kFloat).device(device_.torch());
  }

  // Memory for `rows_` rows of this width.
  at::Tensor RowsIn(const at::Tensor& memory, std::int64_t width) const {
    return memory.narrow(0, 0, rows_ * width).view({rows_, width});
  }

  // The input of hidden layer `i`.
  const at::Tensor& InputOf(std::size_t i) const { return i == 0 ? one_hot_ : layers_[i - 1].y; }

  void CopyBatch(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights);
  void Reserve(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights);
  template <class Work>
  void Run(std::unique_ptr<CapturedWork>& captured, Work work);
  void RunGradients();
  void Forward(const at::Tensor& bytes);
  void ForwardLayer(std::size_t i);
  void SetMoments(const TensorLayer& layer);
  void Backward(bool add);
  void BackwardOutput(bool add);
  void BackwardLayer(std::size_t i, bool add);
  at::Tensor GradientOfProduct(std::size_t i, bool add);

  Device& device_;
  const PassRunner& passes_;
  const InputLayout input_;
  const std::int64_t padding_;  // features that are always 0
  const std::int64_t parts_;
  const bool may_capture_;
  const TrainingLoss loss_of_;
  FlatParameters parameters_;
  TensorLayers layers_;
  const at::Tensor loss_;

  // For rows_ rows, which are a part of a batch.
  std::int64_t rows_ = 0;
  at::Tensor inputs_, targets_, weights_;  // a batch
  at::Tensor one_hot_;
  std::array<at::Tensor, 3> memory_;  // two gradients of outputs, one of a product
  at::Tensor *gradient_ = nullptr, *skip_gradient_ = nullptr;
  at::Tensor partial_, mean_gradient_, mean_product_, scratch_;
  at::Tensor outputs_, output_gradient_;
  std::unique_ptr<CapturedWork> gradients_work_, step_work_;
};

// Copies a batch to memory that stays at the same address.
template <class T>
void ResNetTensorStep<T>::CopyBatch(const at::Tensor& inputs, const at::Tensor& targets,
                                    const at::Tensor& weights) {
  CheckInputs(inputs, input_.depth, "training step");
  const bool fits = inputs_.defined() && inputs_.size(0) == inputs.size(0) &&
                    weights_.defined() == weights.defined();
  if (!fits) Reserve(inputs, targets, weights);
  inputs_.copy_(inputs);
  targets_.copy_(targets);
  if (weights.defined()) weights_.copy_(weights);
}

template <class T>
void ResNetTensorStep<T>::Reserve(const at::Tensor& inputs, const at::Tensor& targets,
                                  const at::Tensor& weights) {
  if (gradients_work_ != nullptr || step_work_ != nullptr) device_.Synchronize();
  gradients_work_.reset();
  step_work_.reset();
  inputs_.reset();  // set last, so that a failed allocation leaves no memory that looks complete
  rows_ = inputs.size(0) / parts_;
  targets_ = at::empty_like(targets);
  weights_ = weights.defined() ? at::empty_like(weights) : at::Tensor();
  layers_.Reserve(rows_);
  const std::int64_t widest = layers_.widest();
  one_hot_ = at::empty({rows_, layers_.front().shape.in}, layers_.options());
  for (at::Tensor& memory : memory_) memory = at::empty({rows_ * widest}, layers_.options());
  const std::int64_t blocks = (rows_ + kRowsOfColumnBlock - 1) / kRowsOfColumnBlock;
  const std::int64_t of_output = targets.size(1) * layers_.back().shape.out;
  partial_ = at::empty({blocks * std::max(3 * widest, of_output)}, Floats());
  outputs_ = at::empty({rows_, targets.size(1)}, Floats());
  output_gradient_ = at::empty_like(outputs_);
  inputs_ = at::empty_like(inputs);
}

template <class T>
template <class Work>
void ResNetTensorStep<T>::Run(std::unique_ptr<CapturedWork>& captured, Work work) {
  if (!may_capture_) return work();
  if (captured == nullptr) captured = device_.CaptureWork(work);
  captured->Run();
}

template <class T>
void ResNetTensorStep<T>::RunGradients() {
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

template <class T>
void ResNetTensorStep<T>::Forward(const at::Tensor& bytes) {
  passes_.Run(OneHotPass<T>{.rows = rows_,
                            .positions = input_.positions,
                            .depth = input_.depth,
                            .padding = padding_,
                            .values = bytes.const_data_ptr<std::uint8_t>(),
                            .features = DataOrNull<T>(one_hot_)});
  for (std::size_t i = 0; i < layers_.size(); ++i) ForwardLayer(i);
  const TensorLayer& last = layers_.back();
  const DenseTensors& output = layers_.output().parameters;
  passes_.Run(OutputPass<T>{.rows = rows_,
                            .width = last.shape.out,
                            .outputs = outputs_.size(1),
                            .x = DataOrNull<T>(last.y),
                            .weight = DataOrNull<float>(output.weight),
                            .bias = DataOrNull<float>(output.bias),
                            .y = DataOrNull<float>(outputs_)});
}

template <class T>
void ResNetTensorStep<T>::ForwardLayer(std::size_t i) {
  const TensorLayer& l = layers_[i];
  const LayerRows<T> rows = layers_.RowsOf<T>(i);
  const at::Tensor& x = InputOf(i);
  const at::Tensor weight = i == 0 ? l.weight : l.weight.t();
  at::Tensor y = l.y;
  if (IsReluOfProduct(l.shape, rows.activation)) {
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

template <class T>
void ResNetTensorStep<T>::SetMoments(const TensorLayer& layer) {
  const std::int64_t width = layer.shape.out;
  passes_.Run(BatchMoments<T>{.rows = rows_,
                              .width = width,
                              .z = DataOrNull<T>(layer.z),
                              .partial = DataOrNull<float>(partial_)});
  passes_.Run(FinishBatchMoments<T>{.rows = rows_,
                                    .width = width,
                                    .z = DataOrNull<T>(layer.z),
                                    .partial = DataOrNull<float>(partial_),
                                    .bias = DataOrNull<float>(layer.parameters.bias),
                                    .epsilon = static_cast<float>(Dense::kEpsilon),
                                    .momentum = static_cast<float>(Dense::kMomentum),
                                    .mean = DataOrNull<float>(layer.mean),
                                    .inverse = DataOrNull<float>(layer.inverse),
                                    .running_mean = DataOrNull<float>(layer.running_mean),
                                    .running_var = DataOrNull<float>(layer.running_var)});
}

template <class T>
void ResNetTensorStep<T>::Backward(bool add) {
  gradient_ = memory_.data();
  skip_gradient_ = &memory_[1];
  BackwardOutput(add);
  for (std::size_t i = layers_.size(); i-- > 0;) BackwardLayer(i, add);
}

template <class T>
void ResNetTensorStep<T>::BackwardOutput(bool add) {
  const TensorLayer& last = layers_.back();
  const std::int64_t width = last.shape.out;
  const std::int64_t outputs = outputs_.size(1);
  const TensorOutputLayer& output = layers_.output();
  passes_.Run(OutputWeightSums<T>{.rows = rows_,
                                  .width = width,
                                  .outputs = outputs,
                                  .x = DataOrNull<T>(last.y),
                                  .y_gradient = DataOrNull<float>(output_gradient_),
                                  .partial = DataOrNull<float>(partial_)});
  passes_.Run(FinishOutputWeights{.rows = rows_,
                                  .weights = outputs * width,
                                  .partial = DataOrNull<float>(partial_),
                                  .add = add,
                                  .gradients = DataOrNull<float>(output.gradients.weight)});
  at::Tensor bias_gradient = output.gradients.bias;
  if (add) {
    bias_gradient.add_(output_gradient_.sum(0));
  } else {
    at::sum_out(bias_gradient, output_gradient_, 0);
  }
  passes_.Run(OutputInputGradient<T>{.rows = rows_,
                                     .width = width,
                                     .outputs = outputs,
                                     .y_gradient = DataOrNull<float>(output_gradient_),
                                     .weight = DataOrNull<float>(output.parameters.weight),
                                     .x_gradient = DataOrNull<T>(*gradient_)});
}

// Before, *gradient_ is the gradient of the layer's output. Between the layers of a block,
// *skip_gradient_ is that of the block's input along the residual connection.
template <class T>
void ResNetTensorStep<T>::BackwardLayer(std::size_t i, bool add) {
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
template <class T>
at::Tensor ResNetTensorStep<T>::GradientOfProduct(std::size_t i, bool add) {
  const TensorLayer& l = layers_[i];
  const std::int64_t width = l.shape.out;
  const bool is_product = IsProduct(l.shape);
  const bool by_column = l.shape.norm == Norm::kBatch;
  const at::Tensor of_output = RowsIn(*gradient_, width);
  at::Tensor of_product = is_product ? of_output : RowsIn(memory_[2], width);
  const LayerGradients<T> gradients{.layer = layers_.RowsOf<T>(i),
                                    .y = DataOrNull<T>(l.y),
                                    .y_gradient = DataOrNull<T>(of_output)};
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
  passes_.Run(FinishSums{.rows = rows_,
                         .width = width,
                         .partial = DataOrNull<float>(partial_),
                         .add = add,
                         .shift = DataOrNull<float>(l.gradients.norm_bias),
                         .scale = DataOrNull<float>(l.gradients.norm_weight),
                         .bias = by_column ? nullptr : DataOrNull<float>(l.gradients.bias),
                         .mean_gradient = by_column ? DataOrNull<float>(mean_gradient_) : nullptr,
                         .mean_product = by_column ? DataOrNull<float>(mean_product_) : nullptr});
  if (by_column) passes_.Run(pass);
  return of_product;
}

}  // namespace

std::unique_ptr<GradientStep> MakeTensorStep(ResNetFC& net, const TrainingConfig& config,
                                             Device& device) {
  if (config.precision == Precision::kBf16) {
    return std::make_unique<ResNetTensorStep<Bf16>>(net, config, device);
  }
  return std::make_unique<ResNetTensorStep<float>>(net, config, device);
}

}  // namespace tandem
