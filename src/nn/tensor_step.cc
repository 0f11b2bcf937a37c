#include "nn/tensor_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "base/timeline.h"
#include "nn/pass_runner.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Rows of the first product begin at addresses that are multiples of this many numbers.
constexpr std::int64_t kAlignment = 8;

// The loss of outputs, and its gradient, by LibTorch's operators. The losses are those of
// TorchTrainer.
class TensorLoss {
 public:
  TensorLoss(Head head, const TrainingConfig& config)
      : head_(head),
        loss_(config.loss),
        delta_(config.huber_delta),
        policy_weight_(config.policy_weight) {}

  // What each weighted error of a cost counts in the mean loss of a batch; undefined without
  // weights.
  static at::Tensor CostScale(const at::Tensor& weights) {
    if (!weights.defined()) return {};
    return weights.sum().clamp_min(std::numeric_limits<float>::min()).reciprocal();
  }

  // Adds the loss of some of a batch's `all_rows` rows to `loss`, and sets the gradient of the
  // outputs `y`. All are (rows, outputs) but `loss`, which is a scalar.
  void operator()(const at::Tensor& y, const at::Tensor& targets, const at::Tensor& weights,
                  const at::Tensor& cost_scale, std::int64_t all_rows, const at::Tensor& gradient,
                  const at::Tensor& loss) const {
    const std::int64_t outputs = y.size(1);
    const std::int64_t costs = head_ == Head::kPolicy ? 0 : (head_ == Head::kVp ? 1 : outputs);
    if (costs > 0) {
      const auto part = [&](const at::Tensor& of) { return of.narrow(1, 0, costs); };
      auto [losses, slopes] = OfErrors(part(y) - part(targets));
      at::Tensor sum;
      if (weights.defined()) {
        sum = (losses * part(weights)).sum() * cost_scale;
        slopes = slopes * part(weights) * cost_scale;
      } else {
        const double scale = 1 / static_cast<double>(all_rows * costs);
        sum = losses.sum() * scale;
        slopes = slopes * scale;
      }
      loss.add_(sum);
      part(gradient).copy_(slopes);
    }
    if (costs == outputs) return;
    const auto part = [&](const at::Tensor& of) { return of.narrow(1, costs, outputs - costs); };
    const double scale = (head_ == Head::kVp ? policy_weight_ : 1) / static_cast<double>(all_rows);
    const at::Tensor logs = at::log_softmax(part(y), 1);
    const at::Tensor wanted = part(targets);
    loss.sub_((wanted * logs).sum() * scale);
    part(gradient).copy_((logs.exp() * wanted.sum(1, /*keepdim=*/true) - wanted) * scale);
  }

 private:
  // The loss of each error, and its derivative.
  std::pair<at::Tensor, at::Tensor> OfErrors(const at::Tensor& errors) const {
    switch (loss_) {
      case Loss::kSquared:
        return {errors.square(), errors * 2};
      case Loss::kHuber: {  // c (error - c / 2), where c is the error clamped to delta
        const at::Tensor clamped = errors.clamp(-delta_, delta_);
        return {clamped * (errors - clamped / 2), clamped};
      }
      case Loss::kLogCosh: {  // log(cosh(x)) = |x| + log(1 + exp(-2 |x|)) - log 2
        const at::Tensor sizes = errors.abs();
        return {sizes + (sizes * -2).exp().log1p() - std::numbers::ln2, errors.tanh()};
      }
    }
    throw Error("TensorLoss: unknown loss; this is a bug in Tandem");
  }

  const Head head_;
  const Loss loss_;
  const double delta_, policy_weight_;
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
class ResNetTensorStep final : public TensorStep {
 public:
  ResNetTensorStep(ResNetFC& net, const TrainingConfig& config, Device& device)
      : net_(net),
        device_(device),
        passes_(*device.passes()),
        input_(net.spec().input),
        padding_(-net.spec().features() & (kAlignment - 1)),
        parts_(config.accumulation_steps),
        captured_(config.step == TrainStep::kCaptured),
        loss_of_(net.spec().layers.head, config),
        of_net_(net.parameters()),
        loss_(at::zeros({}, Floats())) {
    const c10::NoGradGuard no_grad;
    MoveParameters();
    AddLayers();
  }

  const at::Tensor& parameters() const override { return flat_; }
  const at::Tensor& copies() const override { return copies_; }
  const at::Tensor& gradients() const override { return flat_gradients_; }

  at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights) override {
    const Span span(Phase::kBackward);
    const c10::NoGradGuard no_grad;
    Take(inputs, targets, weights);
    SetCopies();
    Run(gradients_work_, [this] { RunGradients(); });
    LendGradients();
    return loss_;
  }

  at::Tensor Step(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights,
                  const Update& update) override {
    const Span span(Phase::kBackward);
    const c10::NoGradGuard no_grad;
    Take(inputs, targets, weights);
    SetCopiesIfOld();
    Run(step_work_, [this, update] {
      RunGradients();
      LendGradients();
      update();
    });
    versions_ = Versions();
    return loss_;
  }

  at::Tensor ReducedStep(const at::Tensor& inputs, const at::Tensor& targets,
                         const at::Tensor& weights, const Reduce& reduce,
                         const Update& update) override {
    const c10::NoGradGuard no_grad;
    {
      const Span span(Phase::kBackward);
      Take(inputs, targets, weights);
      SetCopiesIfOld();
      Run(gradients_work_, [this] { RunGradients(); });
      LendGradients();
    }
    at::Tensor loss = reduce(loss_);
    update();
    versions_ = Versions();
    return loss;
  }

 private:
  static constexpr at::ScalarType kType = kIsBf16<T> ? at::kBFloat16 : at::kFloat;

  struct Layer {
    Norm norm = Norm::kNone;
    Activation activation = Activation::kRelu;
    bool linear = false;     // no activation
    bool adds_skip = false;  // the second layer of a block adds the block's input
    std::int64_t in = 0, width = 0;
    at::Tensor weight;           // of products: (in, width) of the first layer, (width, in)
    at::Tensor bias;             // of products
    at::Tensor weight_gradient;  // like weight, in fp32
    const float *exact_bias = nullptr, *scale = nullptr, *shift = nullptr;
    float *bias_gradient = nullptr, *scale_gradient = nullptr, *shift_gradient = nullptr;
    at::Tensor running_mean, running_var;  // defined with batch normalisation
    // Of the current rows. z is undefined if the backward pass does not need it.
    at::Tensor z, y, mean, inverse;

    bool is_relu_of_product() const {
      return norm == Norm::kNone && !linear && !adds_skip && activation == Activation::kRelu;
    }
    bool is_product() const { return norm == Norm::kNone && linear; }
    bool keeps_z() const {
      return norm != Norm::kNone || (activation == Activation::kSilu && !linear);
    }
  };

  at::TensorOptions Floats() const {
    return at::TensorOptions().dtype(at::kFloat).device(device_.torch());
  }
  at::TensorOptions Numbers() const { return Floats().dtype(kType); }
  static T* Data(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
  }
  static float* Floats(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
  }
  // Memory for `rows_` rows of this width.
  at::Tensor RowsOf(const at::Tensor& memory, std::int64_t width) const {
    return memory.narrow(0, 0, rows_ * width).view({rows_, width});
  }

  void SetCopies() {
    if (kIsBf16<T>) copies_.copy_(flat_);
  }

  // Loading a checkpoint changes parameters, and so does every update outside of whole steps.
  void SetCopiesIfOld() {
    if (Versions() != versions_) SetCopies();
  }

  void MoveParameters();
  void AddLayers();
  void UsePaddedInput(Layer& layer) const;
  void Take(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights);
  void Reserve(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights);
  void ReserveLayer(Layer& layer) const;
  template <class Work>
  void Run(std::unique_ptr<RepeatedWork>& repeated, Work work);
  std::int64_t Versions() const;
  void LendGradients();
  void RunGradients();
  LayerRows<T> RowsOfLayer(std::size_t i) const;
  void Forward(const at::Tensor& bytes);
  void ForwardLayer(std::size_t i);
  void SetMoments(const Layer& l);
  void Backward(bool add);
  void BackwardOutput(bool add);
  void BackwardLayer(std::size_t i, bool add);
  at::Tensor GradientOfProduct(std::size_t i, bool add);

  ResNetFC& net_;
  Device& device_;
  const PassRunner& passes_;
  const InputLayout input_;
  const std::int64_t padding_;  // features that are always 0
  const std::int64_t parts_;
  const bool captured_;
  const TensorLoss loss_of_;
  std::vector<at::Tensor> of_net_;  // the network's parameters
  const at::Tensor loss_;

  at::Tensor all_, all_gradients_, all_copies_;  // with padding
  at::Tensor flat_, copies_;                     // without
  at::Tensor flat_gradients_;                    // without, but with kRoomBehindGradients
  std::vector<at::Tensor> gradients_;
  std::int64_t versions_ = -1;  // after the last step that set the copies
  std::vector<Layer> layers_;   // the hidden layers
  at::Tensor output_weight_, output_bias_, output_weight_gradient_, output_bias_gradient_;
  std::int64_t widest_ = 0, largest_ = 0;  // hidden layer, weight gradient

  // For rows_ rows, which are a part of a batch.
  std::int64_t rows_ = 0;
  at::Tensor inputs_, targets_, weights_;  // a batch
  at::Tensor one_hot_;
  std::array<at::Tensor, 3> memory_;  // two gradients of outputs, one of a product
  at::Tensor *gradient_ = nullptr, *skip_gradient_ = nullptr;
  at::Tensor partial_, mean_gradient_, mean_product_, scratch_;
  at::Tensor outputs_, output_gradient_;
  std::unique_ptr<RepeatedWork> gradients_work_, step_work_;
};

// The memory of parameters, gradients and copies begins with the weights of the features that are
// always 0. They are 0 and stay so.
template <class T>
void ResNetTensorStep<T>::MoveParameters() {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : of_net_) count += parameter.numel();
  const std::int64_t zeros = padding_ * of_net_.front().size(0);
  all_ = at::zeros({zeros + count}, Floats());
  all_gradients_ = at::zeros({zeros + count + kRoomBehindGradients}, Floats());
  flat_ = all_.narrow(0, zeros, count);
  const std::vector<at::Tensor> views = ViewsOf(flat_, of_net_);
  for (std::size_t i = 0; i < of_net_.size(); ++i) {
    views[i].copy_(of_net_[i]);
    of_net_[i].set_data(views[i]);
  }
  flat_gradients_ = all_gradients_.narrow(0, zeros, count + kRoomBehindGradients);
  gradients_ = ViewsOf(flat_gradients_.narrow(0, 0, count), of_net_);
  if (!kIsBf16<T>) return;
  all_copies_ = at::zeros({zeros + count}, Numbers());
  copies_ = all_copies_.narrow(0, zeros, count);
}

template <class T>
void ResNetTensorStep<T>::AddLayers() {
  const std::vector<LayerShape> shapes = LayerShapes(net_.spec());
  const std::vector<at::Tensor> in_products =
      kIsBf16<T> ? ViewsOf(copies_, of_net_) : ViewsOf(flat_, of_net_);
  std::size_t next = 0;
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const LayerShape& shape = shapes[i];
    Layer layer{.norm = shape.norm,
                .activation = net_.spec().layers.activation,
                .linear = shape.linear,
                .adds_skip = shape.adds_skip,
                .in = shape.in,
                .width = shape.out};
    layer.weight = in_products[next];
    layer.weight_gradient = gradients_[next++];
    if (i == 0) UsePaddedInput(layer);
    layer.bias = in_products[next];
    layer.exact_bias = Floats(of_net_[next]);
    layer.bias_gradient = Floats(gradients_[next++]);
    if (shape.norm != Norm::kNone) {
      layer.scale = Floats(of_net_[next]);
      layer.scale_gradient = Floats(gradients_[next++]);
    }
    if (shape.norm == Norm::kLayer || shape.norm == Norm::kBatch) {
      layer.shift = Floats(of_net_[next]);
      layer.shift_gradient = Floats(gradients_[next++]);
    }
    if (shape.norm == Norm::kBatch) {
      layer.running_mean = net_.layers()[i]->running_mean;
      layer.running_var = net_.layers()[i]->running_var;
    }
    widest_ = std::max({widest_, shape.out, i > 0 ? shape.in : 0});
    largest_ = std::max(largest_, layer.weight_gradient.numel());
    layers_.push_back(std::move(layer));
  }
  output_weight_ = of_net_[next].detach();
  output_weight_gradient_ = gradients_[next++];
  output_bias_ = of_net_[next].detach();
  output_bias_gradient_ = gradients_[next];
  mean_gradient_ = at::empty({widest_}, Floats());
  mean_product_ = at::empty({widest_}, Floats());
  if (kIsBf16<T> && device_.torch().is_cpu()) scratch_ = at::empty({largest_}, Numbers());
}

template <class T>
void ResNetTensorStep<T>::UsePaddedInput(Layer& layer) const {
  layer.in += padding_;
  const auto begin = [&](const at::Tensor& all) {
    return all.narrow(0, 0, layer.in * layer.width).view({layer.in, layer.width});
  };
  layer.weight = begin(kIsBf16<T> ? all_copies_ : all_);
  layer.weight_gradient = begin(all_gradients_);
}

// Copies a batch to memory that stays at the same address.
template <class T>
void ResNetTensorStep<T>::Take(const at::Tensor& inputs, const at::Tensor& targets,
                               const at::Tensor& weights) {
  // On a GPU the host would have to wait for the result.
  if (inputs.is_cpu()) CheckInputs(inputs, input_.depth, "training step");
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
  rows_ = inputs.size(0) / parts_;
  inputs_ = at::empty_like(inputs);
  targets_ = at::empty_like(targets);
  weights_ = weights.defined() ? at::empty_like(weights) : at::Tensor();
  one_hot_ = at::empty({rows_, layers_.front().in}, Numbers());
  for (Layer& layer : layers_) ReserveLayer(layer);
  for (at::Tensor& memory : memory_) memory = at::empty({rows_ * widest_}, Numbers());
  const std::int64_t blocks = (rows_ + kRowsOfColumnBlock - 1) / kRowsOfColumnBlock;
  const std::int64_t of_output = targets.size(1) * layers_.back().width;
  partial_ = at::empty({blocks * std::max(3 * widest_, of_output)}, Floats());
  outputs_ = at::empty({rows_, targets.size(1)}, Floats());
  output_gradient_ = at::empty_like(outputs_);
}

template <class T>
void ResNetTensorStep<T>::ReserveLayer(Layer& layer) const {
  layer.y = at::empty({rows_, layer.width}, Numbers());
  layer.z = layer.keeps_z() ? at::empty({rows_, layer.width}, Numbers()) : at::Tensor();
  if (layer.norm == Norm::kNone) return;
  const std::int64_t statistics = layer.norm == Norm::kBatch ? layer.width : rows_;
  layer.inverse = at::empty({statistics}, Floats());
  if (layer.norm != Norm::kRms) layer.mean = at::empty({statistics}, Floats());
}

template <class T>
template <class Work>
void ResNetTensorStep<T>::Run(std::unique_ptr<RepeatedWork>& repeated, Work work) {
  if (!captured_) return work();
  if (repeated == nullptr) repeated = device_.MakeRepeatedWork(work);
  repeated->Run();
}

// A counter of the changes to parameters that LibTorch's operators made.
template <class T>
std::int64_t ResNetTensorStep<T>::Versions() const {
  std::int64_t sum = 0;
  for (const at::Tensor& parameter : of_net_) sum += parameter._version();
  return sum;
}

template <class T>
void ResNetTensorStep<T>::LendGradients() {
  for (std::size_t i = 0; i < of_net_.size(); ++i) of_net_[i].mutable_grad() = gradients_[i];
}

template <class T>
void ResNetTensorStep<T>::RunGradients() {
  loss_.zero_();
  const std::int64_t all_rows = rows_ * parts_;
  const at::Tensor cost_scale = TensorLoss::CostScale(weights_);
  for (std::int64_t part = 0; part < parts_; ++part) {
    const auto rows_of = [&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.narrow(0, part * rows_, rows_) : tensor;
    };
    Forward(rows_of(inputs_));
    loss_of_(outputs_, rows_of(targets_), rows_of(weights_), cost_scale, all_rows, output_gradient_,
             loss_);
    Backward(/*add=*/part > 0);
  }
}

template <class T>
LayerRows<T> ResNetTensorStep<T>::RowsOfLayer(std::size_t i) const {
  const Layer& l = layers_[i];
  return {.rows = rows_,
          .width = l.width,
          .norm = l.norm,
          .activation = l.activation,
          .linear = l.linear,
          .z = Data(l.z),
          .skip = l.adds_skip ? Data(layers_[i - 2].y) : nullptr,
          .scale = l.scale,
          .shift = l.shift,
          .mean = Floats(l.mean),
          .inverse = Floats(l.inverse),
          .epsilon = static_cast<float>(Dense::kEpsilon)};
}

template <class T>
void ResNetTensorStep<T>::Forward(const at::Tensor& bytes) {
  passes_.Run(OneHotPass<T>{.rows = rows_,
                            .positions = input_.positions,
                            .depth = input_.depth,
                            .padding = padding_,
                            .values = bytes.const_data_ptr<std::uint8_t>(),
                            .features = Data(one_hot_)});
  for (std::size_t i = 0; i < layers_.size(); ++i) ForwardLayer(i);
  const Layer& last = layers_.back();
  passes_.Run(OutputPass<T>{.rows = rows_,
                            .width = last.width,
                            .outputs = outputs_.size(1),
                            .x = Data(last.y),
                            .weight = Floats(output_weight_),
                            .bias = Floats(output_bias_),
                            .y = Floats(outputs_)});
}

template <class T>
void ResNetTensorStep<T>::ForwardLayer(std::size_t i) {
  Layer& l = layers_[i];
  const at::Tensor& x = i == 0 ? one_hot_ : layers_[i - 1].y;
  const at::Tensor weight = i == 0 ? l.weight : l.weight.t();
  if (l.is_relu_of_product()) {
    at::_addmm_activation_out(l.y, l.bias, x, weight);
    return;
  }
  at::Tensor z = l.keeps_z() ? l.z : l.y;
  if (l.norm == Norm::kBatch) {  // removes the bias
    at::mm_out(z, x, weight);
    SetMoments(l);
  } else {
    at::addmm_out(z, l.bias, x, weight);
  }
  if (l.is_product()) return;
  ForwardPass<T> pass{.of = RowsOfLayer(i),
                      .row_mean = nullptr,
                      .row_inverse = nullptr,
                      .y = Data(l.y),
                      .quantised = nullptr,
                      .quantised_scale = nullptr};
  pass.of.z = Data(z);
  if (pass.of.by_row()) {
    pass.row_mean = Floats(l.mean);
    pass.row_inverse = Floats(l.inverse);
  }
  passes_.Run(pass);
}

template <class T>
void ResNetTensorStep<T>::SetMoments(const Layer& l) {
  passes_.Run(BatchMoments<T>{
      .rows = rows_, .width = l.width, .z = Data(l.z), .partial = Floats(partial_)});
  passes_.Run(FinishBatchMoments<T>{.rows = rows_,
                                    .width = l.width,
                                    .z = Data(l.z),
                                    .partial = Floats(partial_),
                                    .bias = l.exact_bias,
                                    .epsilon = static_cast<float>(Dense::kEpsilon),
                                    .momentum = static_cast<float>(Dense::kMomentum),
                                    .mean = Floats(l.mean),
                                    .inverse = Floats(l.inverse),
                                    .running_mean = Floats(l.running_mean),
                                    .running_var = Floats(l.running_var)});
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
  const Layer& last = layers_.back();
  const std::int64_t outputs = outputs_.size(1);
  passes_.Run(OutputWeightSums<T>{.rows = rows_,
                                  .width = last.width,
                                  .outputs = outputs,
                                  .x = Data(last.y),
                                  .y_gradient = Floats(output_gradient_),
                                  .partial = Floats(partial_)});
  passes_.Run(FinishOutputWeights{.rows = rows_,
                                  .weights = outputs * last.width,
                                  .partial = Floats(partial_),
                                  .add = add,
                                  .gradients = Floats(output_weight_gradient_)});
  if (add) {
    output_bias_gradient_.add_(output_gradient_.sum(0));
  } else {
    at::sum_out(output_bias_gradient_, output_gradient_, 0);
  }
  passes_.Run(OutputInputGradient<T>{.rows = rows_,
                                     .width = last.width,
                                     .outputs = outputs,
                                     .y_gradient = Floats(output_gradient_),
                                     .weight = Floats(output_weight_),
                                     .x_gradient = Data(*gradient_)});
}

// Before, *gradient_ is the gradient of the layer's output. Between the layers of a block,
// *skip_gradient_ is that of the block's input along the residual connection.
template <class T>
void ResNetTensorStep<T>::BackwardLayer(std::size_t i, bool add) {
  const Layer& l = layers_[i];
  const at::Tensor of_product = GradientOfProduct(i, add);
  const at::Tensor& x = i == 0 ? one_hot_ : layers_[i - 1].y;
  if (i == 0) {
    SetProduct(x.t(), of_product, add, scratch_, l.weight_gradient);
    return;
  }
  SetProduct(of_product.t(), x, add, scratch_, l.weight_gradient);
  const bool begins_block = i + 1 < layers_.size() && layers_[i + 1].adds_skip;
  if (begins_block) std::swap(gradient_, skip_gradient_);
  at::Tensor of_input = RowsOf(*gradient_, l.in);
  if (begins_block) {
    at::addmm_out(of_input, of_input, of_product, l.weight);
  } else {
    at::mm_out(of_input, of_product, l.weight);
  }
}

// Sets the gradients of the parameters except the weights.
template <class T>
at::Tensor ResNetTensorStep<T>::GradientOfProduct(std::size_t i, bool add) {
  const Layer& l = layers_[i];
  const at::Tensor of_output = RowsOf(*gradient_, l.width);
  at::Tensor of_product = l.is_product() ? of_output : RowsOf(memory_[2], l.width);
  const LayerGradients<T> layer{
      .of = RowsOfLayer(i), .y = Data(l.y), .y_gradient = Data(of_output)};
  const BackwardPass<T> pass{.layer = layer,
                             .mean_gradient = Floats(mean_gradient_),
                             .mean_product = Floats(mean_product_),
                             .z_gradient = Data(of_product),
                             .skip_gradient = l.adds_skip ? Data(*skip_gradient_) : nullptr};
  const bool by_column = l.norm == Norm::kBatch;
  if (!by_column && !l.is_product()) passes_.Run(pass);
  passes_.Run(ColumnSums<T>{.layer = layer,
                            .z_gradient = by_column ? nullptr : pass.z_gradient,
                            .partial = Floats(partial_)});
  passes_.Run(FinishSums{.rows = rows_,
                         .width = l.width,
                         .partial = Floats(partial_),
                         .add = add,
                         .shift = l.shift_gradient,
                         .scale = l.scale_gradient,
                         .bias = by_column ? nullptr : l.bias_gradient,
                         .mean_gradient = by_column ? Floats(mean_gradient_) : nullptr,
                         .mean_product = by_column ? Floats(mean_product_) : nullptr});
  if (by_column) passes_.Run(pass);
  return of_product;
}

}  // namespace

std::string WhyNoTensorStep(const NetworkConfig& network, const Device& device) {
  if (network.kind != kResNetFc) return "it computes networks of kind resnet_fc only";
  if (device.passes() == nullptr) {
    return "on a GPU it needs compute capability 8.0 or more, and a build of Tandem with nvcc";
  }
  return "";
}

std::unique_ptr<TensorStep> MakeTensorStep(ResNetFC& net, const TrainingConfig& config,
                                           Device& device) {
  if (config.precision == Precision::kBf16) {
    return std::make_unique<ResNetTensorStep<Bf16>>(net, config, device);
  }
  return std::make_unique<ResNetTensorStep<float>>(net, config, device);
}

}  // namespace tandem
