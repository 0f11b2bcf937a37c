#include "apps/torch/model.h"

#include <ATen/Version.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "nn/inference_net.h"
#include "nn/torch_message.h"
#include "search/astar.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/components.h"
#include "train/resume.h"

namespace tandem {
namespace {

// Returns the run's config with the user's changes. Keys that depend on the machine are reset to
// auto.
Config ConfigForSolving(const RunDirectory& run, const ModelArgs& args) {
  std::vector<Override> overrides;
  for (const char* key : {"device", "train.threads", "inference.threads", "inference.precision"}) {
    overrides.push_back({key, "auto", "the default of solving"});
  }
  overrides.insert(overrides.end(), args.overrides.begin(), args.overrides.end());
  return LoadConfig(run.config(), overrides);
}

// Logs how much memory the node limit takes, because memory grows with the nodes.
void AnnounceAStar(const SearchConfig& config, const DomainSpec& spec) {
  std::string text = fmt::format("A*: weight {:g}, up to {} states at a time", config.weight,
                                 WithThousands(config.batch));
  if (config.instances > 1) text += fmt::format(" of each of {} puzzles", config.instances);
  if (config.max_nodes == 0) {
    constexpr std::size_t kMany = 1'000'000;
    text += fmt::format(", {} bytes per node and no limit", AStarBytesFor(kMany, spec) / kMany);
  } else {
    const auto bytes =
        static_cast<double>(AStarBytesFor(static_cast<std::size_t>(config.max_nodes), spec));
    text += fmt::format("; at most {} nodes, which take {}{}", WithThousands(config.max_nodes),
                        HumanBytes(bytes), config.instances > 1 ? ", for each" : "");
  }
  LogInfo(text);
}

// A search that is this close to greedy gains little from a lower weight.
constexpr double kLowWeight = 0.1;

std::string LowerWeight(const SearchConfig& config) {
  if (config.weight <= kLowWeight) return "";
  return fmt::format("lower search.weight ({:g}), or ", config.weight);
}

// Below this batch size, most of a step is the fixed cost of calling the network.
constexpr std::int64_t kSmallBatch = 100;

std::string ToEndInTime(const SearchConfig& config, const SearchResult& result) {
  if (config.method == SearchMethod::kBeam) {
    return "lower search.beam_width, or raise search.max_seconds";
  }
  if (config.method == SearchMethod::kAnytimeBeam) return "raise search.max_seconds";
  if (config.batch >= kSmallBatch) return LowerWeight(config) + "raise search.max_seconds";
  return fmt::format(
      "raise search.batch ({}): the search generated only {} nodes per second", config.batch,
      WithThousands(static_cast<long long>(static_cast<double>(result.nodes) / result.seconds)));
}

}  // namespace

std::filesystem::path CheckpointOf(const RunDirectory& run, const std::string& which,
                                   const std::string& option) {
  if (which == "last") return run.checkpoint();
  std::filesystem::path path = which == "best" ? run.best() : CheckpointIn(which);
  if (std::filesystem::exists(path)) return path;
  throw InputError(
      which == "best"
          ? fmt::format("{} has no best.pt, because the run was not validated. Use {} last, or "
                        "train with validation.every_updates above 0.",
                        run.path().string(), option)
          : fmt::format("{} {}: expected last, best or an existing file", option, which));
}

LoadedModel::LoadedModel(const ModelArgs& args) {
  const RunDirectory run = RunDirectory::Open(args.run);
  const Config asked = ConfigForSolving(run, args);
  device_ = OpenDevice(asked.device);
  config_ = ResolveAutos(asked, *device_);
  MakeNet();
  Load(CheckpointOf(run, args.checkpoint, "--checkpoint"));
  if (iterations_ == 0 && !std::filesystem::exists(run.import_record())) {
    LogWarning("this network was not trained: its run stopped before the first iteration");
  }
}

LoadedModel::LoadedModel(const std::filesystem::path& checkpoint, Config config,
                         std::unique_ptr<Device> device)
    : config_(std::move(config)), device_(std::move(device)) {
  MakeNet();
  Load(checkpoint);
}

void LoadedModel::MakeNet() {
  domain_ = MakeDomain(config_.domain.full_name());
  net_ = std::make_unique<InferenceNet>(NetworkFor(config_.network, domain_->spec()),
                                        config_.inference, *device_);
}

void LoadedModel::Load(const std::filesystem::path& checkpoint) {
  ResNetFC net(NetworkFor(config_.network, domain_->spec()), /*seed=*/0);
  const Checkpoint file(checkpoint);
  file.LoadModel(net, domain_->spec().identity());
  iterations_ = file.iterations();
  net_->Load(net);
}

void LoadedModel::LoadInitial() {
  net_->Load(*MakeInitialNet(config_, domain_->spec()));
  iterations_ = 0;
}

std::unique_ptr<Search> LoadedModel::MakeSearch() {
  if (config_.search.method == SearchMethod::kAStar) {
    AnnounceAStar(config_.search, domain().spec());
  }
  return tandem::MakeSearch(domain(), *net_, config_);
}

std::string LoadedModel::Failure(const SearchResult& result) const {
  if (result.solved) return "";
  const SearchConfig& config = config_.search;
  const bool astar = config.method == SearchMethod::kAStar;
  switch (result.ended) {
    case Ended::kNodeLimit:
      return fmt::format(
          "no solution found with {} nodes (search.max_nodes); {}raise search.max_nodes",
          WithThousands(config.max_nodes), LowerWeight(config));
    case Ended::kTimeLimit:
      return fmt::format("no solution found in {} (search.max_seconds); {}",
                         HumanSeconds(config.max_seconds), ToEndInTime(config, result));
    case Ended::kLengthLimit:
      return fmt::format(
          "no solution of at most {} moves found with beam width {}; raise search.max_length or "
          "search.beam_width",
          config.max_length, config.beam_width);
    case Ended::kSolved:
    case Ended::kExhausted:
      break;
  }
  if (astar) {
    return fmt::format("the puzzle has no solution: none of the {} reachable states is a goal",
                       WithThousands(result.stored));
  }
  return fmt::format("no unvisited states remain with beam width {}; raise search.beam_width",
                     config.beam_width);
}

void SolveProblems(const std::vector<Problem>& problems, const Domain& domain, Search& search,
                   const StopSignal& stop, const Search::Done& done) {
  std::vector<std::size_t> numbers;  // indices of the problems with a valid state
  std::vector<std::uint8_t> states;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (!problems[i].error.empty()) continue;
    numbers.push_back(i);
    states.insert(states.end(), problems[i].state.begin(), problems[i].state.end());
  }
  const ConstRows starts(states.data(), numbers.size(), domain.spec().state_size);
  search.SolveAll(starts, stop, [&](std::size_t i, SearchResult result) {
    const std::size_t number = numbers[i];
    if (result.solved) CheckByReplay(domain, problems[number].state, result.actions);
    done(number, std::move(result));
  });
}

void CheckByReplay(const Domain& domain, std::vector<std::uint8_t> state,
                   const std::vector<Action>& actions) {
  for (const Action action : actions) domain.Apply(Rows(std::span(state)), {&action, 1});
  if (!IsGoal(domain, state)) {
    throw Error(
        fmt::format("the moves {} do not solve the puzzle: a bug in the search or the domain",
                    FormatActions(domain.spec(), actions)));
  }
}

namespace {

class NetworkHints final : public HintProvider {
 public:
  explicit NetworkHints(const ModelArgs& args) : model_(args) {}

  const Domain& domain() const override { return model_.domain(); }

  Hint Ask(std::span<const std::uint8_t> state) override {
    return WithPlainErrors([&] {
      InferenceNet& network = model_.net();
      switch (model_.config().network.head) {
        case Head::kV:
          return HintByStates(domain(), network, state);
        case Head::kQ:
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

  std::string Failure(const SearchResult& result) const override { return model_.Failure(result); }

 private:
  LoadedModel model_;
  std::unique_ptr<Search> search_;  // created by the first Solve
};

// Loads the network that `asked.network.init_from` names, and calls `work` with it.
int Label(const Config& asked, const std::function<int(const Labelling&)>& work) {
  const std::shared_ptr<Device> device = OpenDevice(asked.device);
  const Config config = ResolveAutos(asked, *device);
  const auto domain = MakeDomain(config.domain.full_name());
  const std::unique_ptr<ResNetFC> net = MakeInitialNet(config, domain->spec());
  const std::string sha256 = WeightsSha256(StateDictOf(*net));
  net->to(device->torch());
  InferenceNet inference_net(NetworkFor(config.network, domain->spec()), config.inference, *device);
  inference_net.Load(*net);
  return work({.config = config,
               .network = &inference_net,
               .weights_sha256 = sha256,
               .instruction_set = at::get_cpu_capability()});
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
