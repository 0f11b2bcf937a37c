// How networks are trained and evaluated: training steps, backends, and the registry of backends. A
// backend registers itself at namespace scope in its own file:
//
//     TANDEM_REGISTER_BACKEND(kCpu, CpuBackend);
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "nn/device.h"
#include "nn/network.h"

namespace tandem {

class FlatParameters;
class Optimizer;

/// GradientStep computes the loss of a batch and the gradients of all parameters of a network, by
/// which an optimizer then changes the parameters.
class GradientStep {
 public:
  /// What Step does with the gradients.
  struct Update {
    Optimizer& optimizer;  ///< the same one in every call, with flat() and Device::passes
    double learning_rate;
    /// Returns the loss, and sets the gradients, of all ranks. Empty if this process trains alone.
    std::function<at::Tensor(const at::Tensor& loss)> reduce = {};
  };

  virtual ~GradientStep() = default;

  /// Sets the gradients of the parameters to those of the mean loss of a batch (TrainingLoss), and
  /// returns the loss, on the device. `inputs` (n, positions) are bytes, `targets` (n, outputs) and
  /// `weights`, shaped like `targets` or undefined, are floats, all contiguous. The batch is taken
  /// in `train.accumulation_steps` parts, one after another. The parameters must have no gradients
  /// before, as after Optimizer::Step. The next call may overwrite the result. Calls CheckInputs.
  virtual at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                                  const at::Tensor& weights) = 0;

  /// Does a whole step: SetGradients, then the reduction and the step of the optimizer. Returns the
  /// loss, on the device, which the next call may overwrite.
  virtual at::Tensor Step(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights, const Update& update);

  /// The block into which the step moved the parameters, and that of their gradients, or null.
  virtual FlatParameters* flat() { return nullptr; }
};

/// Backend makes the training steps and the inference copies that compute in one way. A step and a
/// copy of different backends differ by rounding.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Whether `backend: auto` prefers this backend to `reference` on a device. If several are fast,
  /// the first in BackendKind serves.
  virtual bool IsFastOn(const Device& device) const = 0;

  /// Whether products in bf16 are faster than in fp32 for a network.
  virtual bool HasFastBf16(const NetworkConfig& /*network*/, const Device& device) const {
    return device.has_fast_bf16();
  }

  /// Whether inference copies can compute in `precision` on some device.
  virtual bool HasPrecision(Precision precision) const {
    return precision == Precision::kFp32 || precision == Precision::kBf16;
  }

  /// Returns why the backend cannot train or evaluate a network in `precision`, which it must have,
  /// on a device; empty if it can.
  virtual std::string WhyNot(const NetworkConfig& network, Precision precision,
                             const Device& device) const = 0;

  /// Make what MakeGradientStep and MakeInferenceCopy return, which have checked that this backend
  /// can compute it.
  virtual std::unique_ptr<GradientStep> MakeStep(Network& net, const TrainingConfig& config,
                                                 Device& device) const = 0;
  virtual std::unique_ptr<NetworkCopy> MakeCopy(const NetworkSpec& spec,
                                                const InferenceConfig& config,
                                                const Device& device) const = 0;
};

/// Registers a backend. Call it from one thread, before main.
void RegisterBackend(BackendKind kind, std::unique_ptr<const Backend> backend);

/// Returns the config with the backends of training and of inference, which have no keys, and with
/// the precisions that were `auto`. `backend: auto` becomes the backend of both, and stays `auto`
/// if they have different ones. The choice depends on the config and on the device alone, so that a
/// saved config is resolved to the same again.
Config WithBackends(Config config, const Device& device);

/// Return why the backend of a resolved config cannot train or evaluate its network, or "".
std::string WhyNoStep(const Config& config, const Device& device);
std::string WhyNoCopy(const Config& config, const Device& device);

/// Makes a step of `config.backend`, which must not be `auto`. `net` and `device` must outlive it,
/// and `net` must be on the device. May move the parameters of `net` (FlatParameters), so objects
/// that keep addresses of parameters must be made later. Throws InputError if the backend cannot
/// train the network on the device.
std::unique_ptr<GradientStep> MakeGradientStep(Network& net, const TrainingConfig& config,
                                               Device& device);

/// Makes an inference copy of `config.backend`, which must not be `auto`. `device` must outlive it.
/// Throws InputError if the backend cannot evaluate the network on the device.
std::unique_ptr<NetworkCopy> MakeInferenceCopy(const NetworkSpec& spec,
                                               const InferenceConfig& config, const Device& device);

}  // namespace tandem

/// Registers a backend of BackendKind `kind` when the program starts.
#define TANDEM_REGISTER_BACKEND(kind, Class)                                                 \
  static const bool tandem_registered_backend_##kind = [] {                                  \
    ::tandem::RegisterBackend(::tandem::BackendKind::kind, std::make_unique<const Class>()); \
    return true;                                                                             \
  }()
