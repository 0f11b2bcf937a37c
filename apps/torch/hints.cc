// The network of `tandem play` and `tandem report`.
#include <memory>
#include <span>
#include <string>

#include "apps/torch_library.h"
#include "nn/torch_message.h"
#include "search/costs.h"
#include "search/greedy_search.h"
#include "search/problems.h"
#include "search/search.h"
#include "train/loaded_model.h"

namespace tandem {
namespace {

class NetworkHints final : public HintProvider {
 public:
  explicit NetworkHints(const ModelArgs& args) : model_(args) {}

  const Domain& domain() const override { return model_.domain(); }

  Hint Ask(std::span<const std::uint8_t> state) override {
    return WithPlainErrors([&] {
      Evaluator& network = model_.net();
      switch (RankingOf(network)) {
        case Ranking::kByStates:
          return HintByStates(domain(), network, state);
        case Ranking::kByActions:
          return HintByActions(domain(), network, state);
        case Ranking::kByPolicy:
          return HintByPolicy(domain(), network, state);
      }
      return Hint();  // not reached: the compiler warns of a missing case
    });
  }

  SearchResult Solve(std::span<const std::uint8_t> state, const StopSignal& stop) override {
    return WithPlainErrors([&] {
      if (search_ == nullptr) search_ = model_.MakeSearch();
      SearchResult result = search_->Solve(state, stop);
      if (result.solved) CheckByReplay(domain(), state, result.actions);
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

}  // namespace

std::unique_ptr<HintProvider> OpenHintProvider(const ModelArgs& args) {
  return WithPlainErrors([&] { return std::make_unique<NetworkHints>(args); });
}

}  // namespace tandem
