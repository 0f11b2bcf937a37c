#include "train/checkpoint.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "base/file.h"
#include "config/write.h"
#include "data/stream_folder.h"
#include "domain/registry.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Entries reads a dictionary of a file. Its errors name the file, the entry and what was expected.
class Entries {
 public:
  Entries(const TensorDict& dict, std::string file, std::string path = "")
      : dict_(dict), file_(std::move(file)), path_(std::move(path)) {}

  const TensorDict& dict() const { return dict_; }
  bool Has(const char* name) const { return dict_.contains(name); }

  Entries Dict(const char* name) const {
    return {At(name, &c10::IValue::isGenericDict, "a dictionary").toGenericDict(), file_,
            path_ + name + "."};
  }
  std::int64_t Count(const char* name) const {
    constexpr const char* kExpected = "a whole number of at least 0";
    const std::int64_t count = At(name, &c10::IValue::isInt, kExpected).toInt();
    if (count < 0) Fail(name, std::to_string(count), kExpected);
    if (count > kMostCounted) Fail(name, std::to_string(count), "a smaller number");
    return count;
  }
  // Returns a count that no run writes larger than `most`, which `most_means` describes.
  std::int64_t CountUpTo(const char* name, std::int64_t most, const char* most_means) const {
    const std::int64_t count = Count(name);
    if (count <= most) return count;
    throw DamagedFile(fmt::format(
        "{}: `{}{}` is {}, expected at most {}, {}; the file is damaged. Train a new run; "
        "network.init_from can take the weights of best.pt.",
        file_, path_, name, count, most, most_means));
  }
  double Real(const char* name) const {
    return At(name, &c10::IValue::isDouble, "a real number").toDouble();
  }
  std::string Text(const char* name) const {
    return At(name, &c10::IValue::isString, "a string").toStringRef();
  }

 private:
  // Larger than any run's counts, and small enough that sums of a few of them fit in 64 bits.
  static constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;

  c10::IValue At(const char* name, bool (c10::IValue::*is_right)() const,
                 const char* expected) const {
    const auto found = dict_.find(name);
    if (found == dict_.end()) Fail(name, "missing", expected);
    if (!(found->value().*is_right)()) Fail(name, "of another type", expected);
    return found->value();
  }

  [[noreturn]] void Fail(const char* name, const std::string& what, const char* expected) const {
    throw InputError(
        fmt::format("{}: `{}{}` is {}, expected {}", file_, path_, name, what, expected));
  }

  TensorDict dict_;
  std::string file_;
  std::string path_;  // prefix of the entries' names in errors: "resume.target."
};

void Insert(TensorDict& dict, const std::string& name, const ValidationResult& result) {
  TensorDict inner = MakeTensorDict();
  inner.insert("solve_rate", result.solve_rate);
  if (result.value_error) inner.insert("value_error", *result.value_error);
  inner.insert("states", result.states);
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
  dict.insert("follows_clock", std::int64_t{c.follows_clock ? 1 : 0});
  if (c.at_start) Insert(dict, "at_start", *c.at_start);
  if (c.validation) Insert(dict, "validation", *c.validation);
  if (c.best) Insert(dict, "best", *c.best);
  dict.insert("validated_iterations", c.validated_iterations);
  dict.insert("best_update", c.best_update);
  if (c.skipped > 0) dict.insert("skipped", c.skipped);
  return dict;
}

TensorDict ToDict(const TargetState& target) {
  TensorDict dict = MakeTensorDict();
  dict.insert("offered", target.offered);
  dict.insert("refreshed", target.refreshed);
  dict.insert("last_loss", target.last_loss);
  dict.insert("solve_rate", target.solve_rate);
  dict.insert("rate_at_refresh", target.rate_at_refresh);
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

TensorDict ToDict(const StreamPosition& stream) {
  TensorDict dict = MakeTensorDict();
  dict.insert("current", stream.current);
  dict.insert("current_rows", stream.current_rows);
  dict.insert("done", fmt::format("{}", fmt::join(stream.done, "\n")));
  dict.insert("used_rows", stream.used_rows);
  dict.insert("used_shards", stream.used_shards);
  dict.insert("dropped_rows", stream.dropped_rows);
  dict.insert("dropped_shards", stream.dropped_shards);
  return dict;
}

// Returns the names of shards in a text that has one in each line. Names decide which files are
// removed, so no other text is accepted.
std::vector<std::string> ShardsIn(const std::string& text, const std::string& file) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!ParseStreamShardName(line)) {
      throw InputError(
          fmt::format("{}: `stream.done` holds {}, expected names of shards", file, line));
    }
    names.push_back(std::move(line));
  }
  return names;
}

// The entry of a RunState that holds the SHA-256 of its other entries.
constexpr const char* kSha256 = "sha256";

// Appends all entries of a dictionary to `leaves`. Numbers and strings become part of a leaf's
// name.
void AddLeaves(const TensorDict& dict, const std::string& path, StateDict& leaves) {
  for (const auto& entry : dict) {
    const std::string name = path + (entry.key().isString() ? entry.key().toStringRef() : "?");
    const c10::IValue& value = entry.value();
    const auto add = [&](const auto& number_or_text) {
      leaves.emplace_back(fmt::format("{}={}", name, number_or_text), at::empty({0}));
    };
    if (name == kSha256) continue;
    if (value.isGenericDict()) AddLeaves(value.toGenericDict(), name + ".", leaves);
    if (value.isTensor()) leaves.emplace_back(name, value.toTensor());
    if (value.isInt()) add(value.toInt());
    if (value.isDouble()) add(value.toDouble());
    if (value.isString()) add(value.toStringRef());
  }
}

// The entries that the SHA-256 of a RunState covers.
StateDict LeavesOf(const TensorDict& run_state) {
  StateDict leaves;
  AddLeaves(run_state, "", leaves);
  return leaves;
}

TensorDict ToDict(const RunState& state) {
  TensorDict dict = MakeTensorDict();
  dict.insert("config", ToYaml(state.config));
  dict.insert("counters", ToDict(state.counters));
  if (state.position) dict.insert("position", ToDict(*state.position));
  if (state.stream) dict.insert("stream", ToDict(*state.stream));
  dict.insert("target", ToDict(state.pipeline.target));
  dict.insert("longest_scramble", state.pipeline.longest_scramble);
  dict.insert("model", ToTensorDict(state.model));
  dict.insert("optimizer", ToTensorDict(state.optimizer));
  dict.insert("target_network", ToTensorDict(state.target_network));
  if (!state.average.empty()) dict.insert("average", ToTensorDict(state.average));
  return dict;
}

std::optional<ValidationResult> ResultIn(const Entries& entries, const char* name) {
  if (!entries.Has(name)) return std::nullopt;
  const Entries result = entries.Dict(name);
  return ValidationResult{.solve_rate = result.Real("solve_rate"),
                          .value_error = result.Has("value_error")
                                             ? std::optional(result.Real("value_error"))
                                             : std::nullopt,
                          .states = result.Count("states")};
}

Entries RunStateIn(const TensorDict& checkpoint, const std::string& file) {
  if (!checkpoint.contains("resume")) {
    throw InputError(
        fmt::format("{}: the file has a network but no state to resume a run from; expected the "
                    "checkpoint.pt of a run",
                    file));
  }
  return Entries(checkpoint, file).Dict("resume");
}

}  // namespace

std::string WriteCheckpoint(const std::filesystem::path& path, const std::string& domain,
                            const NetworkConfig& network, const RunCounters& counters,
                            const StateDict& model, const RunState* resume) {
  TensorDict checkpoint = MakeTensorDict();
  checkpoint.insert("schema", kCheckpointSchema);
  checkpoint.insert("domain", domain);
  checkpoint.insert("network", network.kind);
  checkpoint.insert("activation", std::string(NameOf(kActivations, network.activation)));
  checkpoint.insert("updates", counters.updates);
  checkpoint.insert("iterations", counters.iterations);
  checkpoint.insert("weights_sha256", "");  // known later, but in this place
  checkpoint.insert("model", ToTensorDict(model));
  std::vector<StateDict> hashed = {model};
  if (resume != nullptr) {
    const TensorDict state = ToDict(*resume);
    hashed.push_back(LeavesOf(state));
    checkpoint.insert("resume", state);
  }
  std::string weights_sha256;
  WriteTensorFile(path, checkpoint, hashed,
                  [&](TensorDict& entries, const std::vector<std::string>& sha256) {
                    weights_sha256 = sha256[0];
                    entries.insert_or_assign("weights_sha256", weights_sha256);
                    if (resume == nullptr) return;
                    entries.at("resume").toGenericDict().insert(kSha256, sha256[1]);
                  });
  return weights_sha256;
}

Checkpoint::Checkpoint(const std::filesystem::path& path)
    : file_(path.string()), content_(ReadTensorFile(path)) {
  const auto schema = content_.find("schema");
  if (schema == content_.end() || !schema->value().isInt() ||
      schema->value().toInt() != kCheckpointSchema) {
    const bool has_number = schema != content_.end() && schema->value().isInt();
    throw InputError(
        fmt::format("{}: {}, expected a checkpoint of schema {}", file_,
                    has_number ? fmt::format("a checkpoint of schema {}", schema->value().toInt())
                               : "not a checkpoint",
                    kCheckpointSchema));
  }
  iterations_ = Entries(content_, file_).Count("iterations");
}

std::string Checkpoint::weights_sha256() const {
  return Entries(content_, file_).Text("weights_sha256");
}

void Checkpoint::CheckDomain(const std::string& domain) const {
  const std::string trained_on = Entries(content_, file_).Text("domain");
  if (IsSameDomain(trained_on, domain)) return;
  throw InputError(fmt::format("{}: {}", file_, DescribeOtherDomain(trained_on, domain)));
}

void Checkpoint::LoadModel(Network& net, const std::string& domain) const {
  CheckDomain(domain);
  const Entries entries(content_, file_);
  const auto check = [&](const char* entry, const char* key, std::string_view expected) {
    const std::string trained_with = entries.Text(entry);
    if (trained_with == expected) return;
    throw InputError(
        fmt::format("{}: the network was trained with `{}: {}`, expected {}. Set {} to {}, or use "
                    "another checkpoint.",
                    file_, key, trained_with, expected, key, trained_with));
  };
  check("network", "network.kind", net.spec().layers.kind);
  check("activation", "network.activation", NameOf(kActivations, net.spec().layers.activation));
  LoadStateDict(entries.Dict("model").dict(), net.State(), file_);
  if (WeightsSha256(net.State()) != weights_sha256()) {
    throw DamagedFile(fmt::format(
        "{}: the SHA-256 of the weights does not match; the file is damaged. Use another "
        "checkpoint, or train again.",
        file_));
  }
}

RunCounters Checkpoint::Counters() const {
  const Entries counters = RunStateIn(content_, file_).Dict("counters");
  const std::int64_t updates = counters.Count("updates");
  const std::int64_t best_update =
      counters.CountUpTo("best_update", updates, "the number of completed updates");
  return {.updates = updates,
          .iterations = counters.Count("iterations"),
          .examples = counters.Count("examples"),
          .skipped = counters.Has("skipped") ? counters.Count("skipped") : 0,
          .wall_s = counters.Real("wall_s"),
          .generate_s = counters.Real("generate_s"),
          .train_s = counters.Real("train_s"),
          .wait_for_rows_s = counters.Real("wait_for_rows_s"),
          .validate_s = counters.Real("validate_s"),
          .final_loss = counters.Real("final_loss"),
          .follows_clock = counters.Count("follows_clock") != 0,
          .at_start = ResultIn(counters, "at_start"),
          .validation = ResultIn(counters, "validation"),
          .best = ResultIn(counters, "best"),
          .validated_iterations = counters.Count("validated_iterations"),
          .best_update = best_update};
}

std::string Checkpoint::ConfigYaml() const { return RunStateIn(content_, file_).Text("config"); }

Config Checkpoint::ReadConfig(const std::vector<Override>& overrides) const {
  return ParseConfig(ConfigYaml(), fmt::format("the config in {}", file_), overrides);
}

std::optional<ShardPosition> Checkpoint::PositionInShards() const {
  const Entries state = RunStateIn(content_, file_);
  if (!state.Has("position")) return std::nullopt;
  const Entries position = state.Dict("position");
  return ShardPosition{.set = position.Text("set"),
                       .rows = position.Count("rows"),
                       .skipped_chunks = position.Count("skipped_chunks"),
                       .skipped_rows = position.Count("skipped_rows")};
}

std::optional<StreamPosition> Checkpoint::PositionInStream() const {
  const Entries state = RunStateIn(content_, file_);
  if (!state.Has("stream")) return std::nullopt;
  const Entries stream = state.Dict("stream");
  return StreamPosition{.current = stream.Text("current"),
                        .current_rows = stream.Count("current_rows"),
                        .done = ShardsIn(stream.Text("done"), file_),
                        .used_rows = stream.Count("used_rows"),
                        .used_shards = stream.Count("used_shards"),
                        .dropped_rows = stream.Count("dropped_rows"),
                        .dropped_shards = stream.Count("dropped_shards")};
}

PipelineState Checkpoint::Pipeline() const {
  const Entries state = RunStateIn(content_, file_);
  const Entries target = state.Dict("target");
  return {.target = {.offered = target.Count("offered"),
                     .refreshed = target.Count("refreshed"),
                     .last_loss = target.Real("last_loss"),
                     .solve_rate = target.Real("solve_rate"),
                     .rate_at_refresh = target.Real("rate_at_refresh")},
          .longest_scramble = std::max<std::int64_t>(state.Count("longest_scramble"), 1)};
}

void Checkpoint::LoadState(const StateDict& model, const StateDict& optimizer,
                           const StateDict& target_network, const StateDict& average) const {
  const Entries state = RunStateIn(content_, file_);
  if (WeightsSha256(LeavesOf(state.dict())) != state.Text(kSha256)) {
    throw DamagedFile(fmt::format(
        "{}: the SHA-256 of the run's state does not match; the file is damaged. Train a new "
        "run; network.init_from can take the weights of best.pt.",
        file_));
  }
  const auto load = [&](const char* part, const StateDict& into) {
    LoadStateDict(state.Dict(part).dict(), into, fmt::format("{}: {}", file_, part));
  };
  load("model", model);
  load("optimizer", optimizer);
  load("target_network", target_network);
  if (!average.empty()) load("average", average);
}

}  // namespace tandem
