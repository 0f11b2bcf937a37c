#include "train/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "config/fields.h"
#include "data/run_files.h"
#include "data/stream_folder.h"
#include "domain/registry.h"
#include "tandem/error.h"
#include "train/run_directory.h"

namespace tandem {

namespace {

using nlohmann::json;

constexpr const char* kMetadata = "tandem";
constexpr const char* kResume = "resume";
constexpr const char* kResumePrefix = "resume.";
constexpr const char* kStoredAsNetwork = "stored_as_network";

// Larger than any run's counts, and small enough that sums of a few of them fit in 64 bits.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;

// Each Visit passes the entries of a part of a checkpoint, with their names, to `visit`, which
// writes or reads them.
void Visit(ValidationResult& result, const auto& visit) {
  visit("solve_rate", result.solve_rate);
  visit("value_error", result.value_error);
  visit("states", result.states);
}

void Visit(RunCounters& counters, const auto& visit) {
  visit("updates", counters.updates);
  visit("iterations", counters.iterations);
  visit("examples", counters.examples);
  visit("wall_s", counters.wall_s);
  visit("generate_s", counters.generate_s);
  visit("train_s", counters.train_s);
  visit("wait_for_rows_s", counters.wait_for_rows_s);
  visit("validate_s", counters.validate_s);
  visit("final_loss", counters.final_loss);
  visit("follows_clock", counters.follows_clock);
  visit("at_start", counters.at_start);
  visit("validation", counters.validation);
  visit("best", counters.best);
  visit("validated_iterations", counters.validated_iterations);
  visit("best_update", counters.best_update);
}

void Visit(TargetState& target, const auto& visit) {
  visit("offered", target.offered);
  visit("refreshed", target.refreshed);
  visit("last_loss", target.last_loss);
}

void Visit(ShardPosition& position, const auto& visit) {
  visit("set", position.set);
  visit("rows", position.rows);
}

void Visit(StreamPosition& stream, const auto& visit) {
  visit("current", stream.current);
  visit("current_rows", stream.current_rows);
  visit("done", stream.done);
  visit("used_rows", stream.used_rows);
  visit("used_shards", stream.used_shards);
  visit("dropped_rows", stream.dropped_rows);
  visit("dropped_shards", stream.dropped_shards);
}

void Visit(RunState& state, const auto& visit) {
  visit("counters", state.counters);
  visit("target", state.pipeline.target);
  visit("longest_scramble", state.pipeline.longest_scramble);
  visit("position", state.position);
  visit("stream", state.stream);
}

template <class Part>
json ToJson(Part part);

json ToJson(std::int64_t count) { return count; }
json ToJson(double real) { return real; }  // null if it is not finite
json ToJson(bool flag) { return flag; }
json ToJson(const std::vector<std::string>& texts) { return texts; }

// A path may have any bytes, and a text of JSON must be UTF-8. Other texts become lists of bytes.
json ToJson(const std::string& text) {
  if (AsUtf8(text) == text) return text;
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

template <class Value>
json ToJson(const std::optional<Value>& value) {
  return value ? ToJson(*value) : json();
}

template <class Part>
json ToJson(Part part) {
  json object = json::object();
  Visit(part, [&](const char* name, const auto& value) { object[name] = ToJson(value); });
  return object;
}

// Each Read takes the entry `name` of `object`. Throws InputError that names the entry and says
// what was expected, as ReadEntry does.
template <class Part>
void Read(const json& object, const std::string& name, Part& part);

void Read(const json& object, const std::string& name, std::int64_t& count) {
  count = ReadCount(object, name, kMostCounted);
}

void Read(const json& object, const std::string& name, double& real) {
  const auto found = object.find(name);
  real = found != object.end() && found->is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                   : ReadEntry<double>(object, name);
}

void Read(const json& object, const std::string& name, bool& flag) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_boolean()) ThrowWrongEntry(object, name, "true or false");
  flag = found->get<bool>();
}

void Read(const json& object, const std::string& name, std::string& text) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) {
    text = ReadEntry<std::string>(object, name);
    return;
  }
  text.clear();
  for (const json& byte : *found) {
    if (!byte.is_number_unsigned() || byte.get<std::uint64_t>() > 0xFF) {
      ThrowWrongEntry(object, name, "a string or a list of bytes");
    }
    text += static_cast<char>(byte.get<std::uint8_t>());
  }
}

// Names of shards decide which files are removed, so no other text is accepted.
void Read(const json& object, const std::string& name, std::vector<std::string>& shards) {
  for (const json& shard : ReadList(object, name)) {
    if (!shard.is_string() || !ParseStreamShardName(shard.get<std::string>())) {
      throw InputError(
          fmt::format("`{}` holds {}, expected names of shards", name, ShortJson(shard)));
    }
    shards.push_back(shard.get<std::string>());
  }
}

template <class Value>
void Read(const json& object, const std::string& name, std::optional<Value>& value) {
  if (HasValue(object, name)) Read(object, name, value.emplace());
}

template <class Part>
void Read(const json& object, const std::string& name, Part& part) {
  const json& inner = ReadObject(object, name);
  Visit(part, [&](const char* entry, auto& value) { Read(inner, entry, value); });
}

// Returns the entry `name` of `object`. Errors name the file.
template <class Value>
Value Get(const json& object, const std::string& name, const std::string& file) {
  try {
    Value value;
    Read(object, name, value);
    return value;
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

std::string PrefixOf(const std::string& part) { return fmt::format("{}{}.", kResumePrefix, part); }

// Whether the tensors of two state dicts share their memory.
bool IsSame(const StateDict& one, const StateDict& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.is_same(b.second);
  });
}

// Returns the config of the run that wrote a checkpoint, or nothing if it is not known.
// best.safetensors has no config, but the folder of its run does.
std::optional<Config> ConfigOf(const Checkpoint& checkpoint) {
  try {
    return checkpoint.ReadConfig();
  } catch (const InputError&) {
  }
  const auto file = std::filesystem::path(checkpoint.file()).parent_path() / kConfigFile;
  try {
    return ParseConfig(ReadFile(file), file.string());
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Returns how the network of `config` differs from that of a checkpoint: "network.width is 64, but
// 1000 in the checkpoint". Returns "" if no difference is known, or if Checkpoint::LoadModel names
// the key itself.
std::string NetworkDifferences(const Config& config, const Checkpoint& checkpoint) {
  std::optional<Config> trained = ConfigOf(checkpoint);
  if (!trained) return "";
  std::vector<std::string> differences;
  for (const Field& field : FieldsOf(*trained)) {
    if (field.section() != "network" || field.key == "network.init_from") continue;
    const std::string now = ValueText(config, field.key);
    const std::string then = FieldText(field);
    if (now == then) continue;
    if (field.key == "network.kind" || field.key == "network.activation") return "";
    differences.push_back(fmt::format("{} is {}, but {} in the checkpoint", field.key, now, then));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

// Copies the weights of a checkpoint into `net`, the network of `config`.
void LoadWeights(const Checkpoint& checkpoint, const Config& config, const DomainSpec& domain,
                 Network& net) {
  checkpoint.CheckDomain(domain.identity());
  try {
    checkpoint.LoadModel(net, domain.identity());
  } catch (const DamagedFile&) {
    throw;
  } catch (const InputError&) {
    const std::string differences = NetworkDifferences(config, checkpoint);
    if (differences.empty()) throw;
    throw InputError(fmt::format(
        "{}: the network of the config differs from that of the checkpoint: {}. Set the keys to "
        "the values of the checkpoint, or use another checkpoint.",
        checkpoint.file(), differences));
  }
}

}  // namespace

std::string WriteCheckpoint(const std::filesystem::path& path, const std::string& domain,
                            const NetworkConfig& network, const RunCounters& counters,
                            const StateDict& model, const RunState* resume) {
  json content = {{"schema", kCheckpointSchema},
                  {"domain", ToJson(domain)},
                  {"network",
                   {{"kind", network.kind},
                    {"activation", std::string(NameOf(kActivations, network.activation))}}},
                  {"updates", counters.updates},
                  {"iterations", counters.iterations}};
  StateDict others;
  if (resume != nullptr) {
    json& state = content[kResume] = ToJson(*resume);
    state["config"] = ToJson(ToYaml(resume->config));
    for (const auto& [part, tensors] :
         {std::pair("model", &resume->model), std::pair("optimizer", &resume->optimizer),
          std::pair("target_network", &resume->target_network),
          std::pair("average", &resume->average)}) {
      if (!state.contains(kStoredAsNetwork) && IsSame(*tensors, model)) {
        state[kStoredAsNetwork] = part;
        continue;
      }
      for (const auto& [name, tensor] : *tensors) {
        others.emplace_back(PrefixOf(part) + name, tensor);
      }
    }
  }
  return WriteTensorFile(path, model, others, {{"format", "pt"}, {kMetadata, content.dump()}});
}

Checkpoint::Checkpoint(const std::filesystem::path& path)
    : file_(path.string()), content_(ReadTensorFile(path)) {
  const auto text = content_.metadata.find(kMetadata);
  json_ = text == content_.metadata.end() ? json() : ParseJsonOrDiscard(text->second);
  if (!json_.is_object()) {
    throw InputError(
        fmt::format("{}: not a checkpoint, expected a checkpoint of schema {}. `python -m "
                    "tandem.convert import` makes one from the weights of another program.",
                    file_, kCheckpointSchema));
  }
  const auto schema = Get<std::int64_t>(json_, "schema", file_);
  if (schema != kCheckpointSchema) {
    throw InputError(
        fmt::format("{}: a checkpoint of schema {}, expected a checkpoint of schema {}", file_,
                    schema, kCheckpointSchema));
  }
  iterations_ = Get<std::int64_t>(json_, "iterations", file_);
}

std::string Checkpoint::weights_sha256() const {
  const auto found = content_.metadata.find(kWeightsSha256);
  return found == content_.metadata.end() ? "" : found->second;
}

void Checkpoint::CheckDomain(const std::string& domain) const {
  const auto trained_on = Get<std::string>(json_, "domain", file_);
  if (IsSameDomain(trained_on, domain)) return;
  throw InputError(fmt::format("{}: {}", file_, DescribeOtherDomain(trained_on, domain)));
}

void Checkpoint::LoadModel(Network& net, const std::string& domain) const {
  CheckDomain(domain);
  const auto check = [&](const char* entry, std::string_view expected) {
    const auto network = json_.find("network");
    const auto trained_with = Get<std::string>(
        network != json_.end() && network->is_object() ? *network : json::object(), entry, file_);
    const std::string key = fmt::format("network.{}", entry);
    if (trained_with == expected) return;
    throw InputError(
        fmt::format("{}: the network was trained with `{}: {}`, expected {}. Set {} to {}, or use "
                    "another checkpoint.",
                    file_, key, trained_with, expected, key, trained_with));
  };
  check("kind", net.spec().layers.kind);
  check("activation", NameOf(kActivations, net.spec().layers.activation));
  LoadStateDict(Part(""), net.State(), file_);
  if (WeightsSha256(net.State()) != weights_sha256()) {
    throw DamagedFile(fmt::format(
        "{}: the SHA-256 of the weights does not match; the file is damaged. Use another "
        "checkpoint, or train again.",
        file_));
  }
}

const json& Checkpoint::Resume() const {
  const auto found = json_.find(kResume);
  if (found != json_.end() && found->is_object()) return *found;
  throw InputError(
      fmt::format("{}: the file has a network but no state to resume a run from; expected the "
                  "checkpoint.safetensors of a run",
                  file_));
}

RunCounters Checkpoint::Counters() const { return State().counters; }

RunState Checkpoint::State() const {
  Resume();
  auto state = Get<RunState>(json_, kResume, file_);
  state.pipeline.longest_scramble = std::max<std::int64_t>(state.pipeline.longest_scramble, 1);
  const RunCounters& counters = state.counters;
  if (counters.best_update <= counters.updates) return state;
  throw DamagedFile(fmt::format(
      "{}: `best_update` is {}, expected at most {}, the number of completed updates; the file is "
      "damaged. Train a new run; network.init_from can take the weights of best.safetensors.",
      file_, counters.best_update, counters.updates));
}

std::string Checkpoint::ConfigYaml() const { return Get<std::string>(Resume(), "config", file_); }

Config Checkpoint::ReadConfig(const std::vector<Override>& overrides) const {
  return ParseConfig(ConfigYaml(), fmt::format("the config in {}", file_), overrides);
}

// Returns the tensors whose names begin with `prefix`, without it. Those of the network have none.
TensorMap Checkpoint::Part(const std::string& prefix) const {
  TensorMap part;
  for (const auto& [name, tensor] : content_.tensors) {
    const bool is_part =
        prefix.empty() ? !name.starts_with(kResumePrefix) : name.starts_with(prefix);
    if (is_part) part.emplace(name.substr(prefix.size()), tensor);
  }
  return part;
}

void Checkpoint::LoadState(const StateDict& model, const StateDict& optimizer,
                           const StateDict& target_network, const StateDict& average) const {
  const auto network = Get<std::optional<std::string>>(Resume(), kStoredAsNetwork, file_);
  const auto load = [&](const std::string& part, const StateDict& into) {
    LoadStateDict(Part(part == network ? "" : PrefixOf(part)), into,
                  fmt::format("{}: {}", file_, part));
  };
  load("model", model);
  load("optimizer", optimizer);
  load("target_network", target_network);
  if (!average.empty()) load("average", average);
}

std::unique_ptr<Network> MakeInitialNet(const Config& config, const DomainSpec& domain) {
  auto net = MakeNetwork(NetworkFor(config.network, domain), config.random_seed());
  if (!config.network.init_from.empty()) {
    LoadWeights(Checkpoint(CheckpointIn(config.network.init_from)), config, domain, *net);
  }
  return net;
}

}  // namespace tandem
