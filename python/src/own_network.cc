// Networks that are written in Python with PyTorch. This file and torch_tensor.cc are the only ones
// of the extension that include LibTorch.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "config/fields.h"
#include "domain.h"
#include "nn/network.h"
#include "tandem/error.h"
#include "torch_tensor.h"

namespace tandem::python {
namespace {

namespace nb = nanobind;

// The modules that this thread runs.
thread_local int modules_running = 0;

// Calls work(module tandem._own_network) with the GIL and returns its result. What Python raises
// becomes Error with its traceback, because it may have to pass through threads without Python.
// A module that Tandem cannot train becomes InputError.
template <class Work>
auto CallPython(const std::string& name, const Work& work) {
  const nb::gil_scoped_acquire gil;
  const CallScope scope(modules_running);
  const nb::module_ python = nb::module_::import_("tandem._own_network");
  try {
    return work(python);
  } catch (const nb::python_error& error) {
    if (error.matches(python.attr("WrongNetwork"))) {
      throw InputError(nb::cast<std::string>(nb::str(error.value())));
    }
    const std::string message = fmt::format("network '{}': {}", name, error.what());
    if (error.matches(PyExc_KeyboardInterrupt)) throw Interrupted(message);
    throw Error(message);
  }
}

at::Tensor Unwrap(nb::handle tensor) { return UnwrapTensor(tensor.ptr()); }

/// ModuleNetwork is a network whose forward pass is that of a torch.nn.Module. It shares the
/// module's tensors. The GIL is held while Python runs; PyTorch releases it in each operator.
class ModuleNetwork final : public Network {
 public:
  // `module` is a tandem._own_network.OwnNetwork. Call with the GIL.
  ModuleNetwork(const NetworkSpec& spec, nb::object module)
      : Network(spec), module_(std::move(module)) {
    for (const nb::handle entry : module_.attr("state")()) {
      const auto name = nb::cast<std::string>(entry[0]);
      if (nb::cast<bool>(entry[2])) {
        RegisterParameter(name, Unwrap(entry[1]));
      } else {
        RegisterBuffer(name, Unwrap(entry[1]));
      }
    }
    for (const nb::handle buffer : module_.attr("other_buffers")()) {
      other_buffers_.push_back(Unwrap(buffer));
    }
  }

  ~ModuleNetwork() override {
    const nb::gil_scoped_acquire gil;
    module_.reset();
  }

  ModuleNetwork(const ModuleNetwork&) = delete;
  ModuleNetwork& operator=(const ModuleNetwork&) = delete;

  bool reads_bytes() const override { return true; }

  at::Tensor Forward(const at::Tensor& bytes) override {
    return CallPython(spec().layers.kind, [&](const nb::module_& /*python*/) {
      const auto inputs = nb::steal(WrapTensor(bytes));
      return Unwrap(module_.attr("forward")(inputs, is_training()));
    });
  }

  void To(c10::Device device) override {
    Network::To(device);
    for (const at::Tensor& buffer : other_buffers_) buffer.set_data(buffer.to(device));
  }

 private:
  nb::object module_;
  std::vector<at::Tensor> other_buffers_;  // that are not in the state dict
};

std::unique_ptr<Network> Make(const NetworkSpec& spec, std::uint64_t seed) {
  const std::string& name = spec.layers.kind;
  return CallPython(name, [&](const nb::module_& python) {
    return std::make_unique<ModuleNetwork>(
        spec,
        python.attr("make")(name, spec.input.positions, spec.input.depth, spec.outputs, seed));
  });
}

// Adds a name to those of networks. The factory is found by its name, because an object of Python
// must not outlive the interpreter.
void AddKind(const std::string& name) {
  if (std::ranges::count(NetworkKindNames(), name) > 0) {
    throw InputError(
        fmt::format("network '{}': Tandem has a network of this name; choose another", name));
  }
  RegisterNetwork(name, {.make = &Make, .may_use_bf16 = false});
}

}  // namespace

bool IsInModule() { return modules_running > 0; }

void BindOwnNetworks(nb::module_& module) {
  module.def("add_network_kind", &AddKind, nb::arg("name"),
             "Adds a kind of network; `tandem.register_network` calls it.");
}

}  // namespace tandem::python
