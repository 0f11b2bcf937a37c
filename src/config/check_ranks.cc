#include "config/check_ranks.h"

#include <fmt/format.h>

#include <string_view>

#include "config/config.h"
#include "config/fields.h"
#include "tandem/error.h"

namespace tandem {

void CheckRanks(const Config& config) {
  if (!config.train.max_updates || config.train.follows_clock) {
    throw InputError(
        "`train.max_updates: auto` is not supported with several ranks, whose clocks would plan "
        "differently. Set a number, and train.max_seconds as a limit");
  }
  const auto refuse = [&](bool refused, std::string_view key, std::string_view why) {
    if (!refused) return;
    throw InputError(fmt::format(
        "`{}: {}` is not supported with several ranks: {}. Change the key, or train in one process",
        key, ValueText(config, key), why));
  };
  refuse(config.data.source != DataSource::kLive, "data.source",
         "the position in the data is that of one process");
  refuse(LabelsWhenTraining(config.pipeline.mode), "pipeline.mode",
         "its results depend on timing, so the ranks cannot be compared");
  refuse(config.pipeline.solve_rate_margin.has_value(), "pipeline.solve_rate_margin",
         "only rank 0 validates");
  refuse(config.replay.updates > 0, "replay.updates", "a checkpoint holds the rows of one process");
  refuse(config.generate.program == Program::kTensor, "generate.program",
         "it has been tested in one process only");
  refuse(config.generate.curriculum, "generate.curriculum",
         "each rank would follow the searches of its own rows");
}

}  // namespace tandem
