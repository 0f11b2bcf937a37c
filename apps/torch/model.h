// Trained networks, as the commands use them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/torch_library.h"
#include "config/config.h"
#include "nn/torch_message.h"
#include "search/search.h"
#include "tandem/error.h"
#include "train/model.h"

namespace tandem {

/// `LoadedModel` loads the network of a run and makes searches that use it.
class LoadedModel {
 public:
  /// Throws InputError that names what is missing or does not match.
  explicit LoadedModel(const ModelArgs& args);

  const Config& config() const { return config_; }
  const Domain& domain() const { return model_->domain(); }
  Model& model() { return *model_; }

  /// Makes the search that the config selects. For A*, logs how much memory its node limit takes.
  /// The search must not outlive the LoadedModel.
  std::unique_ptr<Search> MakeSearch();

  /// Returns why a search found no solution and what may help, for the user; "" if it found one.
  std::string Failure(const SearchResult& result) const;

 private:
  Config config_;
  std::unique_ptr<Model> model_;
};

/// Throws Error if the moves do not lead to a goal, which means a bug in the search or the domain.
void CheckByReplay(const Domain& domain, std::vector<std::uint8_t> state,
                   const std::vector<Action>& actions);

/// Calls `action` and returns its result. Exceptions of LibTorch become Error.
template <class Action>
auto WithPlainErrors(Action action) {
  try {
    return action();
  } catch (const c10::Error& error) {
    throw Error(MessageFor(error));
  }
}

}  // namespace tandem
