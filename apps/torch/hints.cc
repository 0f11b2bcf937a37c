// The network of `tandem play`, and the one that labels for `tandem generate`.
#include <ATen/Version.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "apps/torch_library.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/torch_message.h"
#include "search/greedy.h"
#include "search/search.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/components.h"
#include "train/loaded_model.h"
#include "train/resume.h"

namespace tandem {
namespace {

class NetworkHints final : public HintProvider {
 public:
  explicit NetworkHints(const ModelArgs& args) : model_(args) {}

  const Domain& domain() const override { return model_.domain(); }

  Hint Ask(std::span<const std::uint8_t> state) override {
    return WithPlainErrors([&] {
      QEvaluator& network = model_.net();
      switch (model_.config().network.head) {
        case Head::kV:
        case Head::kVp:
          return HintByStates(domain(), network, state);
        case Head::kQ:
        case Head::kQIn:
          return HintByActions(domain(), network, state);
        case Head::kPolicy:
          return HintByPolicy(domain(), network, state);
      }
      return Hint();  // not reached: the compiler warns of a missing case
    });
  }

  SearchResult Solve(std::span<const std::uint8_t> state, const StopSignal& stop) override {
    return WithPlainErrors([&] {
      if (search_ == nullptr) search_ = model_.MakeSearch();
      SearchResult result = search_->Solve(state, stop);
      if (result.solved) CheckByReplay(domain(), {state.begin(), state.end()}, result.actions);
      return result;
    });
  }

  std::string Failure(const SearchResult& result) const override {
    return result.solved ? "" : search_->Failure(result);
  }

 private:
  LoadedModel model_;
  std::unique_ptr<Search> search_;  // created by the first Solve
};

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
}  // namespace tandem

extern "C" tandem::HintProvider* tandem::tandem_open_hint_provider(const ModelArgs& args) {
  return WithPlainErrors([&] { return new NetworkHints(args); });
}

extern "C" int tandem::tandem_with_labelling_network(
    const Config& config, const std::function<int(const Labelling&)>& work) {
  return WithPlainErrors([&] { return Label(config, work); });
}
