#include "train/trained_network.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "nn/tensor_file.h"
#include "search/problems.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/loaded_model.h"
#include "train/program_call.h"
#include "train/resolve.h"
#include "train/run_directory.h"

namespace tandem {

struct TrainedNetwork::Loaded {
  explicit Loaded(const ModelArgs& args) : model(args) {}

  LoadedModel model;
  std::unique_ptr<Search> search;  // made by the first Solve
};

TrainedNetwork::TrainedNetwork(const ModelArgs& args)
    : loaded_(CallFromProgram([&] {
        CheckDefaultType();
        return std::make_unique<Loaded>(args);
      })) {}

TrainedNetwork::~TrainedNetwork() = default;

const Config& TrainedNetwork::config() const { return loaded_->model.config(); }

const Domain& TrainedNetwork::domain() const { return loaded_->model.domain(); }

std::int64_t TrainedNetwork::iterations() const { return loaded_->model.iterations(); }

void TrainedNetwork::Evaluate(ConstRows inputs, std::span<float> values) {
  Evaluator& network = loaded_->model.net();
  if (!network.estimates_states()) {
    throw InputError(
        "the network is a policy, which estimates no costs. Evaluate its actions instead.");
  }
  CallFromProgram([&] { network.Evaluate(inputs, values); });
}

void TrainedNetwork::EvaluateActions(ConstRows inputs, std::span<float> values) {
  Evaluator& network = loaded_->model.net();
  if (network.action_values() == ActionValues::kNone) {
    throw InputError(
        "the network has head v, which estimates states and has no values of actions. Evaluate the "
        "children of a state instead, or train with network.head q, q_in, policy or vp.");
  }
  CallFromProgram([&] { network.EvaluateActions(inputs, values); });
}

void TrainedNetwork::Solve(ConstRows states, const StopSignal& stop, const Search::Done& done) {
  CallFromProgram([&] {
    if (loaded_->search == nullptr) loaded_->search = loaded_->model.MakeSearch();
    SolveAndReplay(domain(), *loaded_->search, states, stop, done);
  });
}

std::string TrainedNetwork::Failure(const SearchResult& result) const {
  return result.solved ? "" : loaded_->search->Failure(result);
}

void WriteImportedNetwork(const std::filesystem::path& weights, const std::string& source,
                          const Config& config, const std::filesystem::path& folder) {
  CallFromProgram([&] {
    const DomainSpec domain = MakeDomain(config.domain.full_name())->spec();
    const StateDict state = MakeNetwork(NetworkFor(config.network, domain), /*seed=*/0)->State();
    LoadStateDict(ReadTensorFile(weights).tensors, state, source);
    const RunDirectory run = RunDirectory::Create(folder);
    try {
      const std::string sha256 =
          WriteCheckpoint(run.checkpoint(), domain.identity(), config.network, RunCounters(), state,
                          /*resume=*/nullptr);
      const nlohmann::ordered_json record = {
          {"schema", 1}, {"file", source}, {"weights_sha256", sha256}};
      WriteFileAtomically(run.import_record(), DumpJson(record, 2) + "\n");
      WriteFileAtomically(run.config(), ToYaml(WithAbsolutePaths(config)));
    } catch (...) {
      std::error_code ignored;
      for (const auto& file : {run.import_record(), run.checkpoint()}) {
        std::filesystem::remove(file, ignored);
      }
      run.Abandon();
      throw;
    }
  });
}

}  // namespace tandem
