#include "train/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/write.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Tag is the tag of a key of metrics.jsonl.
struct Tag {
  std::string_view key;
  std::string_view tag;
  double factor = 1;
};

// Keys that have a tag of their own. DeepXube has the tags of the loss and of the costs-to-go
// ("ctgs"), and "val/SEARCH/solved" for the percentage of test states that a search solves. The
// search takes the place of {}.
constexpr auto kTags =
    std::to_array<Tag>({{"loss", "train/loss"},
                        {"learning_rate", "train/learning_rate"},
                        {"label_mean", "train/ctgs/mean"},
                        {"label_min", "train/ctgs/min"},
                        {"label_max", "train/ctgs/max"},
                        {"solve_rate", "val/{}/solved", 100},
                        {"solve_rate_by_length", "val/{}/solved_by_length", 100},
                        {"value_error", "val/value_error"},
                        {"value_error_by_length", "val/value_error_by_length"},
                        {"walk_length_error", "val/walk_length_error"},
                        {"walk_length_error_by_length", "val/walk_length_error_by_length"},
                        {"examples_per_s", "rate/examples_per_s"},
                        {"train_examples_per_s", "rate/train_examples_per_s"},
                        {"generate_examples_per_s", "rate/generate_examples_per_s"},
                        {"idle_main", "idle/main"},
                        {"idle_generator", "idle/generator"},
                        {"lag_updates", "policy_lag/updates"},
                        {"target_age_iterations", "policy_lag/iterations"},
                        {"peak_rss_bytes", "memory/peak_rss_bytes"}});

// Returns the tag of any other key: seconds are in one group, the rest in another.
std::string OtherTag(std::string_view key) {
  return fmt::format("{}/{}", key.ends_with("_s") ? "time" : "run", key);
}

std::pair<std::string, double> Scalar(std::string_view key, double number,
                                      std::string_view search) {
  const std::string_view name = key.substr(0, key.find('/'));
  const auto* const known = std::ranges::find(kTags, name, &Tag::key);
  if (known == kTags.end()) return {OtherTag(key), number};
  return {fmt::format(fmt::runtime(known->tag), search) + std::string(key.substr(name.size())),
          known->factor * number};
}

std::vector<std::pair<std::string, EventFile::Hyperparameter>> Hyperparameters(Config config) {
  std::vector<std::pair<std::string, EventFile::Hyperparameter>> all;
  for (const Field& field : FieldsOf(config)) {
    const std::string text = FieldText(field);
    EventFile::Hyperparameter value = text;
    if (const auto number = ParseNumber<double>(text)) value = *number;
    if (text == "false" || text == "true") value = text == "true";
    all.emplace_back(field.key, std::move(value));
  }
  return all;
}

}  // namespace

template <class Write>
void TensorBoardLog::WarnOnFailure(const Write& write) {
  try {
    write();
  } catch (const Error& error) {
    LogWarning(fmt::format("{}; the run goes on without events for TensorBoard", error.what()));
    file_.reset();
  }
}

TensorBoardLog::TensorBoardLog(const std::filesystem::path& path, const Config& config,
                               std::int64_t iterations)
    : search_(config.validation.beam_width > 0 ? "beam" : "greedy") {
  WarnOnFailure([&] {
    file_.emplace(path, iterations + 1);
    file_->AddText(iterations, "config", fmt::format("```yaml\n{}```\n", ToYaml(config)));
    file_->AddHyperparameters(
        std::filesystem::absolute(path).lexically_normal().parent_path().filename().string(),
        Hyperparameters(config));
  });
}

void TensorBoardLog::Add(const nlohmann::ordered_json& line, std::int64_t iterations) {
  if (!file_) return;
  std::vector<std::pair<std::string, double>> scalars;
  const nlohmann::ordered_json flat = line.flatten();  // {"/loss": 1, "/solve_rate_by_length/3": 1}
  for (const auto& [pointer, value] : flat.items()) {
    if (value.is_number()) {
      scalars.push_back(Scalar(std::string_view(pointer).substr(1), value.get<double>(), search_));
    }
  }
  WarnOnFailure([&] { file_->AddScalars(iterations, scalars); });
}

}  // namespace tandem
