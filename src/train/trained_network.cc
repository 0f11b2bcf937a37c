#include "train/trained_network.h"

#include <utility>

#include "search/problems.h"
#include "tandem/error.h"
#include "train/loaded_model.h"
#include "train/program_call.h"

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

bool TrainedNetwork::has_action_values() const {
  return loaded_->model.net().action_values() != ActionValues::kNone;
}

void TrainedNetwork::Evaluate(ConstRows inputs, std::span<float> values) {
  Evaluator& network = loaded_->model.net();
  if (!network.estimates_states()) {
    throw Error("the network is a policy, which estimates no costs. Evaluate its actions instead.");
  }
  CallFromProgram([&] { network.Evaluate(inputs, values); });
}

void TrainedNetwork::EvaluateActions(ConstRows inputs, std::span<float> values) {
  if (!has_action_values()) {
    throw InputError(
        "the network has head v, which estimates states and has no values of actions. Evaluate the "
        "children of a state instead, or train with network.head q, q_in, policy or vp.");
  }
  CallFromProgram([&] { loaded_->model.net().EvaluateActions(inputs, values); });
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

}  // namespace tandem
