#include "apps/hint_provider.h"

#include <memory>

#include "apps/commands.h"
#include "apps/loaded_model.h"
#include "apps/plain_errors.h"

namespace tandem {
namespace {

class NetworkAdviser final : public HintProvider {
 public:
  explicit NetworkAdviser(const ModelArgs& args) : solver_(args) {}

  const Domain& domain() const override { return solver_.domain(); }

  Hint Ask(std::span<const std::uint8_t> state) override {
    return WithPlainErrors([&] {
      TorchEvaluator& network = solver_.model().evaluator();
      return solver_.config().network.head == Head::kQ ? HintByActions(domain(), network, state)
                                                       : HintByStates(domain(), network, state);
    });
  }

  SearchResult Solve(std::span<const std::uint8_t> state, const StopSignal& stop) override {
    return WithPlainErrors([&] {
      if (search_ == nullptr) search_ = solver_.MakeSearch();
      SearchResult result = search_->Solve(state, stop);
      if (result.solved) CheckByReplay(domain(), {state.begin(), state.end()}, result.actions);
      return result;
    });
  }

  std::string Failure(const SearchResult& result) const override { return solver_.Failure(result); }

 private:
  LoadedModel solver_;
  std::unique_ptr<Search> search_;  // made at the first question
};

}  // namespace
}  // namespace tandem

extern "C" tandem::HintProvider* tandem::tandem_open_adviser(const ModelArgs& args) {
  return WithPlainErrors([&] { return new NetworkAdviser(args); });
}
