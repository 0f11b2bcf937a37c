#include "config/load.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "config/check_together.h"
#include "config/domain_choice.h"
#include "config/fields.h"
#include "config/only_document.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Keys that were renamed before version 0.1.0, as (old name, new name). The error for an old name
// states the new one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kRenamedKeys = {{
    {"evaluate", "inference"},
    {"diagnose", "profile"},
    {"evaluate.batch_rows", "inference.batch_size"},
    {"inference.batch_rows", "inference.batch_size"},
    {"evaluate.precision", "inference.precision"},
    {"evaluate.threads", "inference.threads"},
    {"prefetch.pinned", "prefetch.pin_memory"},
    {"validation.pinned", "validation.pin_memory"},
    {"optimizer.max_gradient_norm", "optimizer.max_grad_norm"},
    {"diagnose.timing_breakdown", "profile.timing_breakdown"},
    {"diagnose.timing_every", "profile.timing_every"},
    {"diagnose.trace", "profile.trace"},
    {"diagnose.trace_from", "profile.trace_from"},
    {"diagnose.trace_updates", "profile.trace_updates"},
    {"diagnose.trace_epochs", "profile.trace_epochs"},
}};

std::string Line(const std::string& file, const YAML::Node& node) {
  return fmt::format("{}:{}", file, node.Mark().line + 1);
}

// Stores values in a TrainConfig, and remembers for error messages where each one was set.
class Reader {
 public:
  // `config` must already name its puzzle, because the keys under `domain` depend on it.
  Reader(TrainConfig& config, const std::vector<Override>& overrides)
      : config_(config),
        overrides_(overrides),
        domain_(config.domain.name),
        fields_(FieldsOf(config)) {
    for (const Field& field : fields_) {
      keys_.push_back(field.key);
      if (!field.section().empty()) sections_.push_back(field.section());
    }
    sections_.erase(std::unique(sections_.begin(), sections_.end()), sections_.end());
  }

  void ReadDocument(const YAML::Node& document, const std::string& name) {
    if (document.IsNull()) return;
    if (!document.IsMap()) {
      throw InputError(
          fmt::format("{}: not a config. Expected `key: value` lines, such as `seed: 1`.", name));
    }
    for (const auto& entry : document) {
      const std::string key = entry.first.Scalar();
      const std::string at = Line(name, entry.first);
      const bool is_section = std::ranges::count(sections_, key) > 0;
      if (is_section && (entry.second.IsMap() || entry.second.IsNull())) {
        FirstTime(key, at);
        ReadSection(key, entry.second, name);
      } else if (is_section) {
        throw InputError(fmt::format("{}: `{}` is a section, expected keys under it, such as {}",
                                     at, key, FirstKeyOf(key)));
      } else {
        Read(key, entry.second, at);
      }
    }
  }

  void ReadOverrides() {
    for (const Override& override : overrides_) {
      Assign(override.key, override.value, override.origin);
      origins_[override.key] = override.origin;
    }
  }

  void CheckTogether() const {
    tandem::CheckTogether(config_, [this](const auto& key, const auto& other, const auto& why) {
      throw InputError(fmt::format("{} contradicts {}: {}", Describe(key), Describe(other), why));
    });
  }

 private:
  std::string FirstKeyOf(std::string_view section) const {
    return *std::ranges::find_if(keys_, [&](const std::string& key) {
      return key.starts_with(fmt::format("{}.", section));
    });
  }

  void FirstTime(const std::string& key, const std::string& at) {
    const auto [earlier, is_new] = origins_.emplace(key, at);
    if (!is_new) {
      throw InputError(
          fmt::format("{}: `{}` is set twice, first at {}. Remove one.", at, key, earlier->second));
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
      throw InputError(fmt::format("{}: `{}` is {}, expected {}", at, key,
                                   value.IsMap() ? "a map" : "a list", Expected(Find(key, at))));
    }
    FirstTime(key, at);
    const bool is_argument = std::holds_alternative<ArgumentField>(Find(key, at).value);
    if (is_argument && std::ranges::count(overrides_, key, &Override::key) > 0) {
      return;  // the overridden argument may name a file that no longer exists
    }
    Assign(key, value.IsScalar() ? value.Scalar() : "", at);
  }

  const Field& Find(const std::string& key, const std::string& at) const {
    const auto found = std::ranges::find(fields_, key, &Field::key);
    if (found != fields_.end()) return *found;
    throw InputError(fmt::format("{}: unknown key `{}`{}", at, key, Hint(key)));
  }

  // Suggests what the author of an unknown key may have meant: a renamed key's new name, the
  // puzzles that have the key, the nearest key, a key with the same beginning, or a key with the
  // same name in another section.
  std::string Hint(const std::string& key) const {
    for (const auto& [before, now] : kRenamedKeys) {
      if (key == before) return fmt::format("; it was renamed to `{}`", now);
    }
    std::vector<std::string> owners;
    for (const std::string& other : DomainNames()) {
      const DomainParameter* parameter = ParameterOf(other);
      if (parameter != nullptr && key == "domain." + parameter->key) owners.push_back(other);
    }
    if (!owners.empty()) {
      return fmt::format("; {} has no such key, but {} {}", domain_, fmt::join(owners, ", "),
                         owners.size() == 1 ? "does" : "do");
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

  TrainConfig& config_;
  const std::vector<Override>& overrides_;
  const std::string domain_;
  std::vector<Field> fields_;
  std::vector<std::string> keys_;
  std::vector<std::string> sections_;
  std::map<std::string, std::string> origins_;  // where each key was set
};

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
    Reader reader(config, overrides);
    reader.ReadDocument(document, name);
    reader.ReadOverrides();
    reader.CheckTogether();
  } catch (const YAML::Exception& error) {
    throw InputError(
        fmt::format("{}:{}: not valid YAML: {}", name, error.mark.line + 1, error.msg));
  }
  return config;
}

TrainConfig LoadConfig(const std::filesystem::path& path, const std::vector<Override>& overrides) {
  const std::string yaml = ReadFile(path);
  TrainConfig config = ParseConfig(yaml, path.string(), overrides);
  if (OnlyDocument(yaml, path.string()).IsNull()) {
    LogWarning(
        fmt::format("{}: the config is empty, so every key has its default; the puzzle is {}. To "
                    "silence this warning, write {{}} into the file. `tandem config --reference` "
                    "lists the keys.",
                    path.string(), config.domain.full_name()));
  }
  return config;
}

std::string ToYaml(const TrainConfig& config) {
  TrainConfig copy = config;
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string open;  // the section being written
  for (const Field& field : FieldsOf(copy)) {
    const std::string section = field.section();
    if (section != open) {
      if (!open.empty()) out << YAML::EndMap;
      if (!section.empty()) out << YAML::Key << section << YAML::Value << YAML::BeginMap;
      open = section;
    }
    out << YAML::Key << field.name() << YAML::Value;
    if (const std::string text = FieldText(field); text == "null") {
      out << YAML::LowerNull << YAML::Null;  // as a string it would be quoted
    } else {
      out << text;
    }
  }
  if (!open.empty()) out << YAML::EndMap;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace tandem
