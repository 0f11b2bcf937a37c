#include "config/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/named_paths.h"
#include "config/network_name.h"
#include "config/suggestions.h"
#include "config/training_phases.h"
#include "config/yaml_document.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kMostPhases = 1000;

std::string Line(const std::string& file, const YAML::Node& node) {
  return fmt::format("{}:{}", file, node.Mark().line + 1);
}

// Returns the text of a key of a map.
std::string KeyText(const std::string& file, const YAML::Node& key) {
  if (key.IsScalar()) return key.Scalar();
  throw InputError(fmt::format("{}: expected the name of a key, found {}", Line(file, key),
                               key.IsMap()        ? "a map"
                               : key.IsSequence() ? "a list"
                                                  : "nothing"));
}

// Returns the `domain.name` that wins: the last override, or else the document's, which is in the
// section `domain` or has its whole name. Values that are not scalars are skipped here; the reader
// reports them.
std::optional<Override> FindDomainName(const YAML::Node& document, const std::string& file,
                                       const std::vector<Override>& overrides) {
  const auto named = [](const Override& override) { return override.key == "domain.name"; };
  const auto last = std::find_if(overrides.rbegin(), overrides.rend(), named);
  if (last != overrides.rend()) return *last;
  const auto find = [&](const YAML::Node& map, std::string_view key) -> std::optional<Override> {
    if (!map || !map.IsMap()) return std::nullopt;
    for (const auto& entry : map) {
      if (entry.first.Scalar() != key || !entry.second.IsScalar()) continue;
      return Override{"domain.name", entry.second.Scalar(), Line(file, entry.first)};
    }
    return std::nullopt;
  };
  if (!document.IsMap()) return std::nullopt;
  const std::optional<Override> whole = find(document, "domain.name");
  return whole ? whole : find(document["domain"], "name");
}

// Returns the puzzle that `overrides` name, or else the document, or else the default puzzle. Its
// argument is the default of its parameter. This comes before other keys are read, because the keys
// under `domain` depend on the puzzle.
DomainConfig ChooseDomain(const YAML::Node& document, const std::string& file,
                          const std::vector<Override>& overrides) {
  DomainConfig domain;
  if (const auto chosen = FindDomainName(document, file, overrides)) {
    domain.name = chosen->value;
    const std::vector<std::string> known = DomainNames();
    if (std::ranges::count(known, domain.name) == 0) {
      throw InputError(fmt::format("{}: `domain.name` is '{}', expected one of {}{}",
                                   chosen->origin, domain.name, fmt::join(known, ", "),
                                   SuggestDomain(domain.name)));
    }
  }
  const DomainParameter* parameter = ParameterOf(domain.name);
  if (parameter != nullptr) domain.argument = parameter->default_value;
  return domain;
}

// Stores values in a Config, and remembers for error messages where each one was set.
class Reader {
 public:
  // `config` must already name its puzzle, because the keys under `domain` depend on it.
  Reader(Config& config, const std::vector<Override>& overrides)
      : config_(config),
        overrides_(overrides),
        domain_(config.domain.name),
        fields_(FieldsOf(config)) {}

  void ReadDocument(const YAML::Node& document, const std::string& name) {
    if (document.IsNull()) return;
    if (!document.IsMap()) {
      throw InputError(
          fmt::format("{}: not a config. Expected `key: value` lines, such as `seed: 1`.", name));
    }
    for (const auto& entry : document) {
      const std::string key = KeyText(name, entry.first);
      const std::string at = Line(name, entry.first);
      if (key == kPhases) {
        SetOnce(origins_, key, at);
        ReadPhases(entry.second, name, at);
      } else if (IsSection(key, entry.second, at)) {
        SetOnce(origins_, key, at);
        ReadSection(key, entry.second, name);
      } else {
        Read(key, entry.second, at);
      }
    }
  }

  void ReadOverrides() {
    for (const Override& override : overrides_) {
      if (override.key == kPhases) {
        ReadPhasesOverride(override);
        continue;
      }
      Store(Find(override.key, override.origin), override.value, override.origin);
      origins_[override.key] = override.origin;
    }
  }

  // Sets the keys for which network.name stands, and clears it, so that later code and the saved
  // config know only those keys. Throws InputError if one of them was set to something else.
  void ExpandNetworkName() {
    constexpr const char* kName = "network.name";
    if (config_.network.name.empty()) return;
    for (const auto& [key, value] : KeysOfNetworkName(config_.network.name, origins_.at(kName))) {
      const Field& field = Find(key, kName);
      const std::string before = FieldText(field);
      if (origins_.contains(key) && before != value) {
        throw InputError(fmt::format(
            "{} contradicts {}: the name stands for `{}: {}`. Remove one of the two keys.",
            WithOrigin(config_, origins_, key), WithOrigin(config_, origins_, kName), key, value));
      }
      Store(field, value, origins_.at(kName));
      origins_.try_emplace(key, origins_.at(kName));
    }
    config_.network.name.clear();
  }

  // Throws InputError if a file or folder that `work` needs is missing.
  void CheckPaths(PathsOf work) const {
    const std::optional<MissingPath> missing = FindMissingPath(config_, work);
    if (!missing) return;
    const std::string& key = missing->key;
    const auto phase = static_cast<std::size_t>(missing->phase);
    const bool is_of_phase = phase > 0 && phase_origins_[phase - 1].contains(key);
    const Origins& origins = is_of_phase ? phase_origins_[phase - 1] : origins_;
    throw InputError(fmt::format("{}: {}", origins.at(key), missing->message));
  }

  // Throws InputError if two keys contradict each other, in the run or in a phase of it.
  void CheckTogether() const {
    Check(config_, origins_, "");
    for (std::size_t i = 0; i < phase_origins_.size(); ++i) {
      const auto phase = static_cast<std::int64_t>(i + 1);
      Origins origins = phase_origins_[i];
      origins.insert(origins_.begin(), origins_.end());  // a key of the phase keeps its origin
      Check(ConfigOfPhase(config_, phase), origins, fmt::format("phase {}: ", phase));
    }
  }

 private:
  static constexpr const char* kPhases = "phases";

  using Origins = std::map<std::string, std::string>;  // where each key was set

  // Remembers in `origins` that `key` is set at `at`. Throws InputError if it was set before.
  static void SetOnce(Origins& origins, const std::string& key, const std::string& at) {
    const auto [earlier, is_new] = origins.emplace(key, at);
    if (!is_new) {
      throw InputError(
          fmt::format("{}: `{}` is set twice, first at {}. Remove one.", at, key, earlier->second));
    }
  }

  // Returns the text of a value; "" if it is null. Throws InputError if it is a map or a list.
  static std::string TextOf(const YAML::Node& value, const Field& field, const std::string& at) {
    if (value.IsMap() || value.IsSequence()) {
      throw InputError(fmt::format("{}: `{}` is {}, expected {}", at, field.key,
                                   value.IsMap() ? "a map" : "a list", Expected(field)));
    }
    return value.IsScalar() ? value.Scalar() : "";
  }

  // Whether `key` is a section. It may be empty. Throws InputError if `value` holds no keys.
  bool IsSection(const std::string& key, const YAML::Node& value, const std::string& at) const {
    const auto in_section = std::ranges::find(fields_, key, &Field::section);
    if (key.empty() || in_section == fields_.end()) return false;
    if (value.IsMap() || value.IsNull()) return true;
    throw InputError(fmt::format("{}: `{}` is a section, expected keys under it, such as {}", at,
                                 key, in_section->key));
  }

  void ReadSection(const std::string& section, const YAML::Node& node, const std::string& name) {
    for (const auto& entry : node) {
      Read(fmt::format("{}.{}", section, KeyText(name, entry.first)), entry.second,
           Line(name, entry.first));
    }
  }

  void Read(const std::string& key, const YAML::Node& value, const std::string& at) {
    const Field& field = Find(key, at);
    const std::string text = TextOf(value, field, at);
    SetOnce(origins_, key, at);
    if (std::holds_alternative<ArgumentField>(field.value) && IsOverridden(overrides_, key)) {
      return;  // the overridden argument may name a file that no longer exists
    }
    Store(field, text, at);
  }

  void ReadPhases(const YAML::Node& list, const std::string& name, const std::string& at) {
    if (list.IsNull()) return;
    if (!list.IsSequence()) {
      throw InputError(
          fmt::format("{}: `phases` is not a list; expected entries such as `- from: 0.9`", at));
    }
    if (list.size() > kMostPhases) {
      throw InputError(fmt::format("{}: there are {} phases, expected at most {}", at, list.size(),
                                   kMostPhases));
    }
    for (const YAML::Node& entry : list) ReadPhase(entry, name);
  }

  void ReadPhase(const YAML::Node& entry, const std::string& name) {
    const std::string at = Line(name, entry);
    const std::int64_t phase = std::ssize(config_.phases) + 1;
    if (!entry.IsMap()) {
      throw InputError(fmt::format(
          "{}: phase {} is not a map; expected `from` and the keys that the phase changes", at,
          phase));
    }
    Config values = config_;  // parses the values
    PhaseReader reader{.fields = FieldsOf(values), .set = {}, .phase = {}};
    for (const auto& item : entry) {
      const std::string key = KeyText(name, item.first);
      const std::string line = Line(name, item.first);
      if (key == "from") {
        SetOnce(reader.set, key, line);
        ReadFrom(item.second, line, reader.phase);
      } else if (IsSection(key, item.second, line) || item.second.IsMap()) {
        for (const auto& inner : item.second) {
          ReadPhaseKey(fmt::format("{}.{}", key, KeyText(name, inner.first)), inner.second,
                       Line(name, inner.first), reader);
        }
      } else {
        ReadPhaseKey(key, item.second, line, reader);
      }
    }
    if (reader.phase.from == 0) {
      throw InputError(fmt::format(
          "{}: phase {} has no `from`; expected the share of the run after which it begins, such "
          "as `from: 0.9`",
          at, phase));
    }
    for (const Field& field : reader.fields) {
      if (reader.set.contains(field.key)) {
        reader.phase.settings.emplace_back(field.key, FieldText(field));
      }
    }
    config_.phases.push_back(std::move(reader.phase));
    phase_origins_.push_back(std::move(reader.set));
  }

  // A phase while it is read.
  struct PhaseReader {
    std::vector<Field> fields;
    Origins set;  // the keys of the phase
    PhaseConfig phase;
  };

  void ReadFrom(const YAML::Node& value, const std::string& at, PhaseConfig& phase) const {
    const double least = config_.phases.empty() ? 0 : config_.phases.back().from;
    const auto from = ParseNumber<double>(value.IsScalar() ? value.Scalar() : "");
    if (!from || !(*from > least && *from < 1)) {
      throw InputError(
          fmt::format("{}: `from` is '{}', expected a number above {} and below 1: the share of "
                      "the run after which the phase begins",
                      at, value.IsScalar() ? value.Scalar() : "", least));
    }
    phase.from = *from;
  }

  void ReadPhaseKey(const std::string& key, const YAML::Node& value, const std::string& at,
                    PhaseReader& reader) const {
    const std::string text = TextOf(value, Find(key, at), at);
    if (!PhaseMayChange(key)) {
      throw InputError(fmt::format(
          "{}: a phase cannot change `{}`. It may change {}. Set `{}` for the whole run.", at, key,
          PhaseKeys(), key));
    }
    SetOnce(reader.set, key, at);
    Store(*std::ranges::find(reader.fields, key, &Field::key), text, at);
  }

  // The command line can only remove the phases of a file.
  void ReadPhasesOverride(const Override& override) {
    if (override.value != "null") {
      throw InputError(fmt::format(
          "{}: the command line can only remove phases (`--set phases=null`). Write them into the "
          "config file.",
          override.origin));
    }
    config_.phases.clear();
    phase_origins_.clear();
  }

  // Throws InputError that begins with `where` if two keys of `config` contradict each other.
  static void Check(const Config& config, const Origins& origins, const std::string& where) {
    Validate(config, [&](const auto& key, const auto& other, const auto& why) {
      throw InputError(fmt::format("{}{} contradicts {}: {}", where,
                                   WithOrigin(config, origins, key),
                                   WithOrigin(config, origins, other), why));
    });
  }

  const Field& Find(const std::string& key, const std::string& at) const {
    const auto found = std::ranges::find(fields_, key, &Field::key);
    if (found != fields_.end()) return *found;
    throw InputError(
        fmt::format("{}: unknown key `{}`{}", at, key, SuggestKey(key, fields_, domain_)));
  }

  // Throws InputError if the field does not accept the value.
  static void Store(const Field& field, const std::string& value, const std::string& at) {
    try {
      if (SetField(field, value)) return;
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: `{}`: {}", at, field.key, error.what()));
    }
    throw InputError(fmt::format("{}: `{}` is {}, expected {}{}", at, field.key,
                                 value.empty() ? "empty" : fmt::format("'{}'", value),
                                 Expected(field), SuggestChoice(field.key, value)));
  }

  static std::string WithOrigin(const Config& config, const Origins& origins,
                                const std::string& key) {
    const auto origin = origins.find(key);
    return fmt::format("`{}: {}` ({})", key, ValueText(config, key),
                       origin == origins.end() ? "the default" : origin->second);
  }

  Config& config_;
  const std::vector<Override>& overrides_;
  const std::string domain_;
  std::vector<Field> fields_;
  Origins origins_;
  std::vector<Origins> phase_origins_;  // of the keys of each phase
};

struct ParsedConfig {
  Config config;
  bool is_empty = false;  // the text has no YAML document
};

ParsedConfig Parse(const std::string& yaml, const std::string& name,
                   const std::vector<Override>& overrides, PathsOf must_exist) {
  ParsedConfig parsed;
  try {
    const YAML::Node document = OnlyDocument(yaml, name);
    parsed.is_empty = document.IsNull();
    parsed.config.domain = ChooseDomain(document, name, overrides);
    Reader reader(parsed.config, overrides);
    reader.ReadDocument(document, name);
    reader.ReadOverrides();
    reader.ExpandNetworkName();
    reader.CheckTogether();
    reader.CheckPaths(must_exist);
  } catch (const YAML::Exception& error) {
    throw InputError(fmt::format("{}:{}", name, DescribeYamlError(yaml, error)));
  }
  return parsed;
}

}  // namespace

bool IsOverridden(const std::vector<Override>& overrides, std::string_view key) {
  return std::ranges::find(overrides, key, &Override::key) != overrides.end();
}

Override ParseOverride(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(
        fmt::format("--set {}: expected KEY=VALUE, such as train.batch_size=1000", text));
  }
  return {.key = std::string(text.substr(0, equals)),
          .value = std::string(text.substr(equals + 1)),
          .origin = fmt::format("--set {}", text)};
}

Config ParseConfig(const std::string& yaml, const std::string& name,
                   const std::vector<Override>& overrides) {
  return Parse(yaml, name, overrides, PathsOf::kNothing).config;
}

Config LoadConfig(const std::filesystem::path& path, const std::vector<Override>& overrides,
                  PathsOf must_exist) {
  const std::string yaml = ReadInput(path, kMostConfigBytes);
  ParsedConfig parsed = Parse(yaml, path.string(), overrides, must_exist);
  if (parsed.is_empty) {
    LogWarning(
        fmt::format("{}: the config is empty, so every key has its default; the puzzle is {}. To "
                    "silence this warning, write {{}} into the file. `tandem config --reference` "
                    "lists the keys.",
                    path.string(), parsed.config.domain.full_name()));
  }
  return std::move(parsed.config);
}

}  // namespace tandem
