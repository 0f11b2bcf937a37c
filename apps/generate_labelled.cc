// tandem generate CONFIG, for targets whose rows a network labels
#include <ATen/Version.h>
#include <fmt/format.h>

#include "apps/generation.h"
#include "apps/plain_errors.h"
#include "config/fields.h"
#include "nn/inference_net.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/resume.h"
#include "train/run_directory.h"

namespace tandem {
namespace {

int Generate(const GenerateArgs& args) {
  const Config asked = LoadConfig(args.config, args.overrides);
  if (asked.network.init_from.empty()) {
    throw InputError(fmt::format(
        "{}: `generate.target: {}` needs a network, so `network.init_from` must name a run or a "
        "checkpoint. Add --set network.init_from=RUN_DIR.",
        args.config, ValueText(asked, "generate.target")));
  }
  const std::shared_ptr<Device> device = OpenDevice(asked.device);
  const Config config = ResolveAutos(asked, *device);
  const auto domain = MakeDomain(config.domain.full_name());
  const NetworkSpec spec = NetworkFor(config.network, domain->spec());
  ResNetFC net(spec, static_cast<std::uint64_t>(config.seed));
  Checkpoint(CheckpointIn(config.network.init_from)).LoadModel(net, domain->spec().identity());
  const std::string sha256 = WeightsSha256(StateDictOf(net));
  net.to(device->torch());
  InferenceNet inference_net(spec, config.inference, *device);
  inference_net.Load(net);
  return GenerateWith(args, config, *domain, &inference_net, sha256, at::get_cpu_capability());
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_generate(const GenerateArgs& args) {
  return WithPlainErrors([&] { return Generate(args); });
}
