#include "generate/spec_of_set.h"

#include <array>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "config/fields.h"
#include "data/examples.h"

namespace tandem {
namespace {

bool IsAlways(const Config& /*config*/) { return true; }

bool IsRetrograde(const Config& config) { return config.generate.target == Target::kRetrograde; }

bool HasExactLabels(const Config& config) { return config.generate.ball_radius > 0; }

bool IsLabelled(const Config& config) { return NeedsNetwork(config.generate.target); }

// The searches of own_solutions follow the network without chance.
bool SearchesByChance(const Config& config) {
  return IsLabelled(config) && config.generate.target != Target::kOwnSolutions;
}

// The rounding of a network's estimates depends on which rows are evaluated together, and on a CPU
// on the number of threads.
constexpr auto kKeys = std::to_array<KeyOfRows>({
    {"network.head", IsAlways},
    {"seed", IsAlways},
    {"generate.max_scramble",
     [](const Config& c) { return !IsRetrograde(c) && c.generate.target != Target::kSupervised; }},
    {"generate.rows_per_walk",
     [](const Config& c) {
       return LabelsWalks(c.generate.target) && c.generate.rows_of_walk() < c.generate.max_scramble;
     }},
    {"generate.problem_rows", IsRetrograde, /*is_in_streams=*/false},
    {"generate.problem_states", IsRetrograde, /*is_in_streams=*/false},
    {"generate.dead_end_share", IsRetrograde, /*is_in_streams=*/false},
    {"generate.dead_end_cost", IsRetrograde, /*is_in_streams=*/false},
    {"generate.ball_radius", HasExactLabels},
    {"generate.anchor_share", HasExactLabels},
    {"generate.search", IsLabelled},
    {"generate.search_iterations", IsLabelled},
    {"generate.search_epsilon", SearchesByChance},
    {"generate.search_weight", SearchesByChance},
    {"generate.search_beam_width",
     [](const Config& c) { return IsLabelled(c) && c.generate.search == GenerateSearch::kBeam; }},
    {"generate.temperature",
     [](const Config& c) { return IsLabelled(c) && c.generate.temperature > 0; }},
    {"generate.backup",
     [](const Config& c) { return IsLabelled(c) && c.generate.backup != Backup::kOneStep; }},
    {"generate.hindsight", [](const Config& c) { return IsLabelled(c) && c.generate.hindsight; }},
    {"generate.chunk_rows", IsLabelled, /*is_in_streams=*/false},
    {"inference.batch_size", IsLabelled, /*is_in_streams=*/false},
    {"inference.precision", IsLabelled, /*is_in_streams=*/false},
    {"inference.first_layer",
     [](const Config& c) {
       return IsLabelled(c) && c.inference.first_layer != FirstLayer::kProduct;
     },
     /*is_in_streams=*/false},
    {"inference.forward",
     [](const Config& c) {
       return IsLabelled(c) && c.inference.forward != InferenceForward::kOperators;
     },
     /*is_in_streams=*/false},
    {"inference.threads", [](const Config& c) { return IsLabelled(c) && c.device == "cpu"; },
     /*is_in_streams=*/false},
});

// The description that the keys for which `has` is true give, without the sizes.
template <class Has>
ShardSetSpec SpecWith(const Config& config, const DomainSpec& domain, const Has& has) {
  ShardSetSpec spec{.domain = AsUtf8(domain.identity()),
                    .target = ValueText(config, "generate.target"),
                    .schema = ExampleSchema(domain, config)};
  for (const KeyOfRows& each : kKeys) {
    if (has(each)) spec.provenance[std::string(each.key)] = ValueText(config, each.key);
  }
  return spec;
}

}  // namespace

std::span<const KeyOfRows> KeysOfRows() { return kKeys; }

ShardSetSpec SpecOfSet(const Config& config, const DomainSpec& domain,
                       const ShardingOptions& options, const std::string& weights_sha256,
                       const std::string& instruction_set) {
  ShardSetSpec set =
      SpecWith(config, domain, [&](const KeyOfRows& each) { return each.is_in_sets(config); });
  set.examples = options.examples;
  set.chunk_rows = options.chunk_rows;
  set.chunks_per_shard = options.chunks_per_shard;
  set.compression = options.compression;
  if (const auto rows = set.provenance.find("generate.rows_per_walk");
      rows != set.provenance.end()) {
    rows->second = std::to_string(config.generate.rows_of_walk());  // the key may be auto
  }
  if (config.generate.target == Target::kSupervised) {
    // The hash of the contents, because processes may read the file from different places.
    set.provenance["paths_hash"] = HashOf(WithoutByteOrderMark(ReadFile(config.generate.paths)));
  }
  if (IsLabelled(config)) {
    const bool on_cpu = config.device == "cpu";
    if (on_cpu && !instruction_set.empty()) set.provenance["instruction_set"] = instruction_set;
    // No device number, so that each process may use its own GPU.
    set.provenance["device"] = on_cpu ? "cpu" : "cuda";
    set.provenance["weights_sha256"] = weights_sha256;
  }
  return set;
}

ShardSetSpec StreamKind(const Config& config, const DomainSpec& domain) {
  return SpecWith(config, domain, [](const KeyOfRows& each) { return each.is_in_streams; });
}

}  // namespace tandem
