#include "apps/hint_provider.h"

#include <memory>

#include "apps/commands.h"
#include "apps/loaded_model.h"
#include "apps/plain_errors.h"

namespace tandem {
namespace {

class NetworkHints final : public HintProvider {
 public:
  explicit NetworkHints(const ModelArgs& args) : model_(args) {}

  const Domain& domain() const override { return model_.domain(); }

  Hint Ask(std::span<const std::uint8_t> state) override {
    return WithPlainErrors([&] {
      InferenceNet& net = model_.net();
      return model_.config().network.head == Head::kQ ? HintByActions(domain(), net, state)
                                                      : HintByStates(domain(), net, state);
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

}  // namespace
}  // namespace tandem

extern "C" tandem::HintProvider* tandem::tandem_open_hint_provider(const ModelArgs& args) {
  return WithPlainErrors([&] { return new NetworkHints(args); });
}
