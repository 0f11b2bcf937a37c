#include "config/load.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "config/domain_choice.h"
#include "config/fields.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::string Line(const std::string& file, const YAML::Node& node) {
  return fmt::format("{}:{}", file, node.Mark().line + 1);
}

// Puts values where their keys say, and remembers where each came from.
class Reader {
 public:
  // `config` names its puzzle already.
  explicit Reader(TrainConfig& config)
      : config_(config), domain_(config.domain.name), fields_(FieldsOf(config)) {
    for (const Field& field : fields_) {
      keys_.push_back(field.key);
      if (!field.section().empty()) sections_.push_back(field.section());
    }
    sections_.erase(std::unique(sections_.begin(), sections_.end()), sections_.end());
  }

  void ReadDocument(const YAML::Node& document, const std::string& name) {
    if (document.IsNull()) return;
    if (!document.IsMap()) {
      throw InputError(fmt::format("{}: expected `key: value` lines, such as `seed: 1`", name));
    }
    for (const auto& entry : document) {
      const std::string key = entry.first.Scalar();
      const std::string at = Line(name, entry.first);
      const bool is_section = std::ranges::count(sections_, key) > 0;
      if (is_section && (entry.second.IsMap() || entry.second.IsNull())) {
        FirstTime(key, at);
        ReadSection(key, entry.second, name);
      } else if (is_section) {
        throw InputError(fmt::format("{}: `{}` is a section: expected keys under it, such as {}",
                                     at, key, FirstKeyOf(key)));
      } else {
        Read(key, entry.second, at);
      }
    }
  }

  void ReadOverride(const Override& override) {
    Assign(override.key, override.value, override.origin);
    origins_[override.key] = override.origin;
  }

  // What no single key can tell.
  void CheckTogether() const {
    CheckExamples();
    CheckTraining();
    CheckSizes();
  }

 private:
  // Which states become examples, and who labels them when.
  void CheckExamples() const {
    const TrainConfig& c = config_;
    if (c.pipeline.mode == Mode::kAsync && c.pipeline.policy_lag == 0) {
      Contradiction("pipeline.policy_lag", "pipeline.mode",
                    "async fills a buffer while it trains on the one before, so its lag is 1");
    }
    const bool searches = c.generate.search != GenerateSearch::kNone;
    if (searches && c.generate.target == Target::kWalkLength) {
      Contradiction("generate.search", "generate.target",
                    "a search leaves the walk, whose length then says nothing of its states; the "
                    "others of `generate.target` do");
    }
    if (searches && c.generate.search_iterations > c.rows_per_update()) {
      Contradiction("generate.search_iterations", "train.iterations_per_update",
                    fmt::format("a search would not end within a buffer, which has {} rows",
                                c.rows_per_update()));
    }
  }

  void CheckTraining() const {
    const TrainConfig& c = config_;
    if (!c.train.max_updates && c.train.max_seconds == 0) {
      Contradiction("train.max_updates", "train.max_seconds",
                    "auto works the updates out from a time limit of more than 0 seconds");
    }
    const bool falls =
        c.optimizer.schedule == Schedule::kLinear || c.optimizer.schedule == Schedule::kCosine;
    if (falls && c.optimizer.final_learning_rate > c.optimizer.learning_rate) {
      Contradiction("optimizer.final_learning_rate", "optimizer.learning_rate",
                    "the linear and cosine schedules fall, so they must end at or below their "
                    "start");
    }
    if (c.network.norm == Norm::kBatch && c.train.batch_size == c.train.accumulation_steps) {
      Contradiction("network.norm", "train.batch_size",
                    "batch normalisation needs at least 2 examples at a time");
    }
    if (c.train.batch_size % c.train.accumulation_steps != 0) {
      Contradiction("train.accumulation_steps", "train.batch_size",
                    "the parts of a batch are equal, so it must be a multiple of their number");
    }
  }

  void CheckSizes() const {
    const TrainConfig& c = config_;
    const double examples = static_cast<double>(c.train.max_updates.value_or(1)) *
                            static_cast<double>(c.train.batch_size) *
                            static_cast<double>(c.train.iterations_per_update);
    if (examples > 1e18) {
      Contradiction("train.max_updates", "train.iterations_per_update",
                    "the run would train on more than 10^18 examples");
    }
    if (c.rows_per_update() > UINT32_MAX) {
      Contradiction("train.batch_size", "train.iterations_per_update",
                    "their product, the rows of one buffer, may be at most 4,294,967,295");
    }
  }

  std::string FirstKeyOf(std::string_view section) const {
    return *std::ranges::find_if(keys_, [&](const std::string& key) {
      return key.starts_with(fmt::format("{}.", section));
    });
  }

  void FirstTime(const std::string& key, const std::string& at) {
    const auto [earlier, is_new] = origins_.emplace(key, at);
    if (!is_new) {
      throw InputError(
          fmt::format("{}: `{}` stands a second time, first at {}", at, key, earlier->second));
    }
  }

  void ReadSection(const std::string& section, const YAML::Node& node, const std::string& name) {
    for (const auto& entry : node) {
      Read(fmt::format("{}.{}", section, entry.first.Scalar()), entry.second,
           Line(name, entry.first));
    }
  }

  void Read(const std::string& key, const YAML::Node& value, const std::string& at) {
    if (value.IsMap() || value.IsSequence()) {
      throw InputError(fmt::format("{}: `{}` holds {}, expected {}", at, key,
                                   value.IsMap() ? "keys" : "a list", Expected(Find(key, at))));
    }
    FirstTime(key, at);
    Assign(key, value.IsScalar() ? value.Scalar() : "", at);
  }

  const Field& Find(const std::string& key, const std::string& at) const {
    const auto found = std::ranges::find(fields_, key, &Field::key);
    if (found != fields_.end()) return *found;
    throw InputError(fmt::format("{}: unknown key `{}`{}", at, key, Hint(key)));
  }

  // Whose key it is, if another puzzle's; else the nearest key; failing that, one that begins so,
  // or one of that name in another section.
  std::string Hint(const std::string& key) const {
    for (const std::string& other : DomainNames()) {
      const DomainParameter* parameter = ParameterOf(other);
      if (parameter != nullptr && key == "domain." + parameter->key) {
        return fmt::format(": {} has no such key, but {} has", domain_, other);
      }
    }
    std::string_view meant = Nearest(key, keys_);
    const std::string name = key.substr(key.find('.') + 1);
    for (const std::string& known : keys_) {
      if (!meant.empty()) break;
      if (known.starts_with(key) || known.ends_with("." + name)) meant = known;
    }
    if (!meant.empty()) return fmt::format("; did you mean `{}`?", meant);
    return fmt::format("; the sections are {}", fmt::join(sections_, ", "));
  }

  void Assign(const std::string& key, const std::string& value, const std::string& at) const {
    const Field& field = Find(key, at);
    if (!SetOrExplain(field, value, at)) {
      throw InputError(fmt::format("{}: `{}` is {}, expected {}", at, key,
                                   value.empty() ? "empty" : fmt::format("'{}'", value),
                                   Expected(field)));
    }
  }

  static bool SetOrExplain(const Field& field, const std::string& value, const std::string& at) {
    try {
      return SetField(field, value);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: `{}`: {}", at, field.key, error.what()));
    }
  }

  std::string Describe(const std::string& key) const {
    const auto field = std::ranges::find(fields_, key, &Field::key);
    const auto origin = origins_.find(key);
    return fmt::format("`{}: {}` ({})", key, FieldText(*field),
                       origin == origins_.end() ? "the default" : origin->second);
  }

  [[noreturn]] void Contradiction(const std::string& key, const std::string& other,
                                  std::string_view why) const {
    throw InputError(fmt::format("{} contradicts {}: {}", Describe(key), Describe(other), why));
  }

  TrainConfig& config_;
  const std::string domain_;
  std::vector<Field> fields_;
  std::vector<std::string> keys_;
  std::vector<std::string> sections_;
  std::map<std::string, std::string> origins_;  // where each key that was set came from
};

// YAML text may hold several; reading the first alone would drop keys in silence.
YAML::Node OnlyDocument(const std::string& yaml, const std::string& name) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(yaml);
  if (documents.size() > 1) {
    throw InputError(
        fmt::format("{}: a second YAML document begins here, but a config is one: remove the `---` "
                    "above",
                    Line(name, documents[1])));
  }
  return documents.empty() ? YAML::Node() : documents[0];
}

}  // namespace

Override ParseOverride(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw InputError(
        fmt::format("--set {}: expected KEY=VALUE, such as train.batch_size=1000", text));
  }
  return {.key = std::string(text.substr(0, equals)),
          .value = std::string(text.substr(equals + 1)),
          .origin = fmt::format("--set {}", text)};
}

TrainConfig ParseConfig(const std::string& yaml, const std::string& name,
                        const std::vector<Override>& overrides) {
  TrainConfig config;
  try {
    const YAML::Node document = OnlyDocument(yaml, name);
    config.domain = ChooseDomain(document, name, overrides);
    Reader reader(config);
    reader.ReadDocument(document, name);
    for (const Override& override : overrides) reader.ReadOverride(override);
    reader.CheckTogether();
  } catch (const YAML::Exception& error) {
    throw InputError(
        fmt::format("{}:{}: not valid YAML: {}", name, error.mark.line + 1, error.msg));
  }
  return config;
}

TrainConfig LoadConfig(const std::filesystem::path& path, const std::vector<Override>& overrides) {
  return ParseConfig(ReadFile(path), path.string(), overrides);
}

std::string ToYaml(const TrainConfig& config) {
  TrainConfig copy = config;
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string open;  // the section that is being written
  for (const Field& field : FieldsOf(copy)) {
    const std::string section = field.section();
    if (section != open) {
      if (!open.empty()) out << YAML::EndMap;
      if (!section.empty()) out << YAML::Key << section << YAML::Value << YAML::BeginMap;
      open = section;
    }
    out << YAML::Key << field.name() << YAML::Value;
    if (const std::string text = FieldText(field); text == "null") {
      out << YAML::LowerNull << YAML::Null;  // as a text it would stand in quotes
    } else {
      out << text;
    }
  }
  if (!open.empty()) out << YAML::EndMap;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace tandem
