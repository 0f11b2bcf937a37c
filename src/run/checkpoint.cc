#include "run/checkpoint.h"

#include <fmt/format.h>

#include "tandem/error.h"

namespace tandem {
namespace {

void Insert(TensorDict& dict, const std::string& name, const ValidationResult& result) {
  TensorDict inner = MakeTensorDict();
  inner.insert("solve_rate", result.solve_rate);
  inner.insert("value_error", result.value_error);
  dict.insert(name, inner);
}

TensorDict ToDict(const RunCounters& c) {
  TensorDict dict = MakeTensorDict();
  dict.insert("updates", c.updates);
  dict.insert("iterations", c.iterations);
  dict.insert("examples", c.examples);
  dict.insert("wall_s", c.wall_s);
  dict.insert("generate_s", c.generate_s);
  dict.insert("train_s", c.train_s);
  dict.insert("wait_for_rows_s", c.wait_for_rows_s);
  dict.insert("validate_s", c.validate_s);
  dict.insert("final_loss", c.final_loss);
  if (c.validation) Insert(dict, "validation", *c.validation);
  if (c.best) Insert(dict, "best", *c.best);
  dict.insert("validated_iterations", c.validated_iterations);
  dict.insert("best_update", c.best_update);
  return dict;
}

std::optional<ValidationResult> ResultIn(const TensorDict& dict, const std::string& name) {
  if (!dict.contains(name)) return std::nullopt;
  const TensorDict inner = dict.at(name).toGenericDict();
  return ValidationResult{.solve_rate = inner.at("solve_rate").toDouble(),
                          .value_error = inner.at("value_error").toDouble()};
}

TensorDict ToDict(const TargetState& target) {
  TensorDict dict = MakeTensorDict();
  dict.insert("offered", target.offered);
  dict.insert("published", target.published);
  dict.insert("last_loss", target.last_loss);
  return dict;
}

TensorDict ToDict(const ShardPosition& position) {
  TensorDict dict = MakeTensorDict();
  dict.insert("set", position.set);
  dict.insert("rows", position.rows);
  dict.insert("skipped_chunks", position.skipped_chunks);
  dict.insert("skipped_rows", position.skipped_rows);
  return dict;
}

TensorDict ToDict(const RunState& state) {
  TensorDict dict = MakeTensorDict();
  dict.insert("counters", ToDict(state.counters));
  if (state.position) dict.insert("position", ToDict(*state.position));
  dict.insert("target", ToDict(state.target));
  dict.insert("model", ToTensorDict(state.model));
  dict.insert("optimizer", ToTensorDict(state.optimizer));
  dict.insert("target_network", ToTensorDict(state.target_network));
  return dict;
}

}  // namespace

void WriteCheckpoint(const std::filesystem::path& path, const std::string& domain,
                     const RunCounters& counters, const StateDict& model,
                     const std::string& weights_sha256, const RunState* resume) {
  TensorDict checkpoint = MakeTensorDict();
  checkpoint.insert("schema", kCheckpointSchema);
  checkpoint.insert("domain", domain);
  checkpoint.insert("updates", counters.updates);
  checkpoint.insert("iterations", counters.iterations);
  checkpoint.insert("weights_sha256", weights_sha256);
  checkpoint.insert("model", ToTensorDict(model));
  if (resume != nullptr) checkpoint.insert("resume", ToDict(*resume));
  WriteTensorFile(path, checkpoint);
}

Checkpoint::Checkpoint(const std::filesystem::path& path)
    : file_(path.string()), content_(ReadTensorFile(path)) {
  const auto schema = content_.find("schema");
  if (schema == content_.end() || !schema->value().isInt() ||
      schema->value().toInt() != kCheckpointSchema) {
    throw InputError(
        fmt::format("{}: expected a checkpoint of schema {}", file_, kCheckpointSchema));
  }
  iterations_ = content_.at("iterations").toInt();  // the schema promises it, and the rest
}

void Checkpoint::LoadModel(ResNetFC& net, const std::string& domain) const {
  const std::string& trained_on = content_.at("domain").toStringRef();
  if (trained_on != domain) {
    throw InputError(
        fmt::format("{}: a network for {}, expected one for {}", file_, trained_on, domain));
  }
  LoadStateDict(content_.at("model").toGenericDict(), StateDictOf(net), file_);
  if (WeightsSha256(StateDictOf(net)) != content_.at("weights_sha256").toStringRef()) {
    throw InputError(fmt::format("{}: the weights are damaged: their SHA-256 is another", file_));
  }
}

TensorDict Checkpoint::Resume() const {
  if (!content_.contains("resume")) {
    throw InputError(fmt::format("{} holds a network alone, no run to go on with", file_));
  }
  return content_.at("resume").toGenericDict();
}

RunCounters Checkpoint::Counters() const {
  const TensorDict dict = Resume().at("counters").toGenericDict();
  const auto number = [&](const char* name) { return dict.at(name).toInt(); };
  const auto real = [&](const char* name) { return dict.at(name).toDouble(); };
  return {.updates = number("updates"),
          .iterations = number("iterations"),
          .examples = number("examples"),
          .wall_s = real("wall_s"),
          .generate_s = real("generate_s"),
          .train_s = real("train_s"),
          .wait_for_rows_s = real("wait_for_rows_s"),
          .validate_s = real("validate_s"),
          .final_loss = real("final_loss"),
          .validation = ResultIn(dict, "validation"),
          .best = ResultIn(dict, "best"),
          .validated_iterations = number("validated_iterations"),
          .best_update = number("best_update")};
}

std::optional<ShardPosition> Checkpoint::Position() const {
  const TensorDict resume = Resume();
  if (!resume.contains("position")) return std::nullopt;
  const TensorDict dict = resume.at("position").toGenericDict();
  return ShardPosition{.set = dict.at("set").toStringRef(),
                       .rows = dict.at("rows").toInt(),
                       .skipped_chunks = dict.at("skipped_chunks").toInt(),
                       .skipped_rows = dict.at("skipped_rows").toInt()};
}

TargetState Checkpoint::Target() const {
  const TensorDict dict = Resume().at("target").toGenericDict();
  return {.offered = dict.at("offered").toInt(),
          .published = dict.at("published").toInt(),
          .last_loss = dict.at("last_loss").toDouble()};
}

void Checkpoint::LoadState(const StateDict& model, const StateDict& optimizer,
                           const StateDict& target_network) const {
  const TensorDict dict = Resume();
  const auto load = [&](const char* part, const StateDict& into) {
    LoadStateDict(dict.at(part).toGenericDict(), into, fmt::format("{}: {}", file_, part));
  };
  load("model", model);
  load("optimizer", optimizer);
  load("target_network", target_network);
}

}  // namespace tandem
