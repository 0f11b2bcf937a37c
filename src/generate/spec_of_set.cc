#include "generate/spec_of_set.h"

#include "base/json.h"
#include "config/fields.h"
#include "data/examples.h"

namespace tandem {
namespace {

// The description that the keys for which `has` is true give, without the sizes.
template <class Has>
ShardSetSpec SpecWith(const Config& config, const DomainSpec& domain, const Has& has) {
  ShardSetSpec spec{.domain = AsUtf8(domain.identity()),
                    .target = ValueText(config, "generate.target"),
                    .schema = ExampleSchema(domain, config)};
  Config copy = config;
  for (const Field& field : FieldsOf(copy)) {
    if (has(field.traits)) spec.provenance[field.key] = FieldText(field);
  }
  return spec;
}

}  // namespace

ShardSetSpec SpecOfSet(const Config& config, const DomainSpec& domain,
                       const ShardingOptions& options, const std::string& weights_sha256,
                       const std::string& instruction_set) {
  ShardSetSpec set = SpecWith(config, domain, [&](const KeyTraits& key) {
    return key.is_in_sets != nullptr && key.is_in_sets(config);
  });
  set.examples = options.examples;
  set.chunk_rows = options.chunk_rows;
  set.chunks_per_shard = options.chunks_per_shard;
  set.compression = options.compression;
  if (const auto rows = set.provenance.find("generate.rows_per_walk");
      rows != set.provenance.end()) {
    rows->second = std::to_string(config.generate.rows_of_walk());  // the key may be auto
  }
  if (NeedsNetwork(config.generate.target)) {
    const bool on_cpu = config.device == "cpu";
    if (on_cpu && !instruction_set.empty()) set.provenance["instruction_set"] = instruction_set;
    // No device number, so that each process may use its own GPU.
    set.provenance["device"] = on_cpu ? "cpu" : "cuda";
    set.provenance["weights_sha256"] = weights_sha256;
  }
  return set;
}

ShardSetSpec StreamKind(const Config& config, const DomainSpec& domain) {
  return SpecWith(config, domain, [](const KeyTraits& key) { return key.is_in_streams; });
}

}  // namespace tandem
