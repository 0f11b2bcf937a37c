// The functions that the program calls in this library. Those of a subcommand are in its own file.
#include <ATen/Version.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "apps/torch_library.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/torch_message.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/loaded_model.h"
#include "train/resolve.h"

namespace tandem {
namespace {

// Loads the network that `asked.network.init_from` names, and calls `work` with it.
int Label(const Config& asked, const std::function<int(const Labelling&)>& work) {
  const std::shared_ptr<Device> device = OpenDevice(asked.device);
  const Config config = ResolveAutos(asked, *device);
  const auto domain = MakeDomain(config.domain.full_name());
  const std::unique_ptr<Network> net = MakeInitialNet(config, domain->spec());
  const std::string sha256 = WeightsSha256(net->State());
  net->To(device->torch());
  InferenceNet inference_net(NetworkFor(config.network, domain->spec()), config.inference, *device);
  const auto load = [&](const std::filesystem::path& checkpoint) {
    Checkpoint(checkpoint).LoadModel(*net, domain->spec().identity());
    std::string loaded = WeightsSha256(net->State());
    inference_net.Load(*net);
    return loaded;
  };
  inference_net.Load(*net);
  return work({.config = config,
               .network = &inference_net,
               .weights_sha256 = sha256,
               .instruction_set = at::get_cpu_capability(),
               .load = load});
}

}  // namespace

int WithLabellingNetwork(const Config& config, const std::function<int(const Labelling&)>& work) {
  return WithPlainErrors([&] { return Label(config, work); });
}

int WithModel(const ModelArgs& args, const std::function<int(const PuzzleModel&)>& work) {
  return WithPlainErrors([&] {
    LoadedModel model(args);
    return work({.domain = model.domain(),
                 .network = model.net(),
                 .make_search = [&] { return model.MakeSearch(); },
                 .make_move_search = [&] { return model.MakeMoveSearch(); }});
  });
}

}  // namespace tandem

extern "C" const tandem::TorchLibrary& tandem::tandem_torch_library() {
  static constexpr TorchLibrary kFunctions = {.run_train = RunTrain,
                                              .run_solve = RunSolve,
                                              .run_evaluate = RunEvaluate,
                                              .with_labelling_network = WithLabellingNetwork,
                                              .with_model = WithModel};
  return kFunctions;
}
