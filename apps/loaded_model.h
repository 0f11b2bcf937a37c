// A trained network with the search that its run's config asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "config/train_config.h"
#include "run/model.h"
#include "search/search.h"

namespace tandem {

class LoadedModel {
 public:
  /// Throws InputError that says what is missing or does not fit.
  explicit LoadedModel(const ModelArgs& args);

  const TrainConfig& config() const { return config_; }
  const Domain& domain() const { return model_->domain(); }
  Model& model() { return *model_; }

  /// Tells what memory the limit of A* stands for. The search must not outlive this.
  std::unique_ptr<Search> MakeSearch();

  /// Why such a search found no solution, and what may help, for the user; "" if it found one.
  std::string Failure(const SearchResult& result) const;

 private:
  TrainConfig config_;
  std::unique_ptr<Model> model_;
};

/// Throws Error if the moves do not lead to a goal: then search or domain is wrong, not the user.
void CheckByReplay(const Domain& domain, std::vector<std::uint8_t> state,
                   const std::vector<Action>& actions);

}  // namespace tandem
