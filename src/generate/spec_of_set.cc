#include "generate/spec_of_set.h"

#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "config/fields.h"
#include "data/examples.h"

namespace tandem {
namespace {

// The keys on which a network's labels depend, besides its weights. The rounding of its estimates
// depends on which rows are evaluated together. Of keys that were added later, only those are here
// that make a difference, so that older sets stay valid.
std::vector<std::string> KeysOfNetworkLabels(const Config& config) {
  std::vector<std::string> keys = {"generate.search", "generate.search_iterations",
                                   "generate.chunk_rows", "inference.batch_size",
                                   "inference.precision"};
  const GenerateConfig& generate = config.generate;
  if (generate.target != Target::kOwnSolutions) {
    keys.insert(keys.end(), {"generate.search_epsilon", "generate.search_weight"});
  }
  if (generate.temperature > 0) keys.emplace_back("generate.temperature");
  if (generate.search == GenerateSearch::kBeam) keys.emplace_back("generate.search_beam_width");
  if (generate.backup != Backup::kOneStep) keys.emplace_back("generate.backup");
  if (generate.hindsight) keys.emplace_back("generate.hindsight");
  if (config.inference.first_layer != FirstLayer::kProduct) {
    keys.emplace_back("inference.first_layer");
  }
  if (config.inference.forward != InferenceForward::kOperators) {
    keys.emplace_back("inference.forward");
  }
  return keys;
}

}  // namespace

ShardSetSpec SpecOfSet(const Config& config, const DomainSpec& domain,
                       const ShardingOptions& options, const std::string& weights_sha256,
                       const std::string& instruction_set) {
  std::vector<std::string> keys = {"network.head", "seed"};
  if (config.generate.target == Target::kRetrograde) {
    keys.insert(keys.end(), {"generate.problem_rows", "generate.problem_states",
                             "generate.dead_end_share", "generate.dead_end_cost"});
  } else if (config.generate.target != Target::kSupervised) {
    keys.emplace_back("generate.max_scramble");
  }
  if (config.generate.ball_radius > 0) {
    keys.insert(keys.end(), {"generate.ball_radius", "generate.anchor_share"});
  }
  ShardSetSpec set{.domain = AsUtf8(domain.identity()),
                   .target = ValueText(config, "generate.target"),
                   .schema = ExampleSchema(domain, config),
                   .examples = options.examples,
                   .chunk_rows = options.chunk_rows,
                   .chunks_per_shard = options.chunks_per_shard,
                   .compression = options.compression};
  const std::int64_t rows_of_walk = config.generate.rows_of_walk();
  if (LabelsWalks(config.generate.target) && rows_of_walk < config.generate.max_scramble) {
    set.provenance["generate.rows_per_walk"] = std::to_string(rows_of_walk);
  }
  if (config.generate.target == Target::kSupervised) {
    // The hash of the contents, because processes may read the file from different places.
    set.provenance["paths_hash"] = HashOf(ReadText(config.generate.paths));
  }
  if (NeedsNetwork(config.generate.target)) {
    const std::vector<std::string> of_labels = KeysOfNetworkLabels(config);
    keys.insert(keys.end(), of_labels.begin(), of_labels.end());
    // Its rounding also depends on the number of threads.
    const bool on_cpu = config.device == "cpu";
    if (on_cpu) {
      keys.emplace_back("inference.threads");
      if (!instruction_set.empty()) set.provenance["instruction_set"] = instruction_set;
    }
    // No device number, so that each process may use its own GPU.
    set.provenance["device"] = on_cpu ? "cpu" : "cuda";
    set.provenance["weights_sha256"] = weights_sha256;
  }
  for (const std::string& key : keys) set.provenance[key] = ValueText(config, key);
  return set;
}

}  // namespace tandem
