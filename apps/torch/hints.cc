// The network of `tandem play` and `tandem report`.
#include <memory>
#include <span>
#include <string>

#include "apps/torch_library.h"
#include "nn/torch_message.h"
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
    return WithPlainErrors([&] { return HintFor(domain(), model_.net(), state); });
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
