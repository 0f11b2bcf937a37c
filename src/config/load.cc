#include "config/load.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/network_name.h"
#include "config/training_phases.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {

namespace {

// Records where each document of a YAML text begins.
class DocumentStarts final : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> marks;

  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
};

// Far more than a config needs. The parser takes some hundred bytes of memory for each value.
constexpr std::int64_t kMostConfigBytes = std::int64_t{1} << 20;
constexpr std::size_t kMostPhases = 1000;

// Rejects text that is too long, or that has a NUL byte. The parser would end at the first one, so
// a file whose contents a power cut replaced by NUL bytes would look empty.
void CheckIsText(const std::string& yaml, const std::string& file) {
  if (std::ssize(yaml) > kMostConfigBytes) {
    throw InputError(fmt::format("{}: the config has {} bytes, expected at most {}", file,
                                 WithThousands(std::ssize(yaml)), WithThousands(kMostConfigBytes)));
  }
  const std::size_t at = yaml.find('\0');
  if (at == std::string::npos) return;
  const auto end = yaml.begin() + static_cast<std::ptrdiff_t>(at);
  throw InputError(fmt::format(
      "{}:{}: byte {} is NUL; the file is damaged or is not text. Expected YAML such as "
      "`seed: 1`.",
      file, std::count(yaml.begin(), end, '\n') + 1, at + 1));
}

// Returns the only document of a YAML text, or a null node if there is none. Throws InputError that
// names `file` and the line if a second document begins there (YAML::Load would silently ignore it)
// or if the line has a NUL byte. Throws YAML::Exception if the text is not YAML.
//
// This does not use YAML::LoadAll, which never returns if a document begins with a comma: the
// parser then reports an empty document before the comma, again and again.
YAML::Node OnlyDocument(const std::string& yaml, const std::string& file) {
  CheckIsText(yaml, file);
  std::istringstream in(yaml);
  YAML::Parser parser(in);
  DocumentStarts starts;
  const std::vector<YAML::Mark>& marks = starts.marks;
  while (marks.size() < 3 && parser.HandleNextDocument(starts)) {
    if (marks.size() < 2 || marks.back().pos != marks[marks.size() - 2].pos) continue;
    throw InputError(fmt::format("{}:{}: not valid YAML: unexpected character in column {}", file,
                                 marks.back().line + 1, marks.back().column + 1));
  }
  if (marks.size() > 1) {
    throw InputError(fmt::format(
        "{}:{}: a second YAML document begins here; expected one document. Remove the `---`.", file,
        marks[1].line + 1));
  }
  return YAML::Load(yaml);
}

// Returns the `domain.name` that wins: the last override, or else the document's. Values that are
// not scalars are skipped here; the reader reports them.
std::optional<Override> FindDomainName(const YAML::Node& document, const std::string& file,
                                       const std::vector<Override>& overrides) {
  const auto named = [](const Override& override) { return override.key == "domain.name"; };
  const auto last = std::find_if(overrides.rbegin(), overrides.rend(), named);
  if (last != overrides.rend()) return *last;
  if (!document.IsMap()) return std::nullopt;
  const YAML::Node section = document["domain"];
  if (!section || !section.IsMap()) return std::nullopt;
  for (const auto& entry : section) {
    if (entry.first.Scalar() != "name" || !entry.second.IsScalar()) continue;
    return Override{"domain.name", entry.second.Scalar(),
                    fmt::format("{}:{}", file, entry.first.Mark().line + 1)};
  }
  return std::nullopt;
}

[[noreturn]] void UnknownDomain(const Override& chosen) {
  const std::vector<std::string> known = DomainNames();
  const std::size_t colon = chosen.value.find(':');
  const std::string bare_name = chosen.value.substr(0, colon);
  const DomainParameter* parameter = ParameterOf(bare_name);
  std::string hint;
  if (parameter != nullptr) {  // NAME:ARGUMENT works only on the command line
    hint = fmt::format(". Did you mean {} with `domain.{}: {}`?", bare_name, parameter->key,
                       chosen.value.substr(colon + 1));
  } else if (const auto domain = DomainThatAccepts(chosen.value)) {
    hint = fmt::format(". Did you mean {} with `domain.{}: {}`?", *domain,
                       ParameterOf(*domain)->key, chosen.value);
  } else if (const std::string_view nearest = Nearest(bare_name, known); !nearest.empty()) {
    hint =
        fmt::format(". Did you mean {}? For a puzzle from a plug-in, add --plugin FILE.", nearest);
  } else {
    hint = ". For a puzzle from a plug-in, add --plugin FILE.";
  }
  throw InputError(fmt::format("{}: `domain.name` is '{}', expected one of {}{}", chosen.origin,
                               chosen.value, fmt::join(known, ", "), hint));
}

// Returns the puzzle that `overrides` name, or else the document, or else the default puzzle. Its
// argument is the default of its parameter. This comes before other keys are read, because the keys
// under `domain` depend on the puzzle.
DomainConfig ChooseDomain(const YAML::Node& document, const std::string& file,
                          const std::vector<Override>& overrides) {
  DomainConfig domain;
  if (const auto chosen = FindDomainName(document, file, overrides)) {
    domain.name = chosen->value;
    if (std::ranges::count(DomainNames(), domain.name) == 0) UnknownDomain(*chosen);
  }
  const DomainParameter* parameter = ParameterOf(domain.name);
  if (parameter != nullptr) domain.argument = parameter->default_value;
  return domain;
}

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

// Stores values in a Config, and remembers for error messages where each one was set.
class Reader {
 public:
  // `config` must already name its puzzle, because the keys under `domain` depend on it.
  Reader(Config& config, const std::vector<Override>& overrides)
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
      if (key == kPhases) {
        FirstTime(key, at);
        ReadPhases(entry.second, name, at);
      } else if (is_section && (entry.second.IsMap() || entry.second.IsNull())) {
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
      if (override.key == kPhases) {
        ReadPhasesOverride(override);
        continue;
      }
      Assign(override.key, override.value, override.origin);
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
            WithOrigin(key), WithOrigin(kName), key, value));
      }
      Assign(key, value, origins_.at(kName));
      if (!origins_.contains(key)) origins_[key] = origins_.at(kName);
    }
    config_.network.name.clear();
  }

  // Throws InputError if two keys contradict each other, in the run or in a phase of it.
  void CheckTogether() const {
    Validate(config_, [this](const auto& key, const auto& other, const auto& why) {
      throw InputError(
          fmt::format("{} contradicts {}: {}", WithOrigin(key), WithOrigin(other), why));
    });
    for (std::int64_t phase = 1; phase <= std::ssize(config_.phases); ++phase) CheckPhase(phase);
  }

 private:
  static constexpr const char* kPhases = "phases";

  using Origins = std::map<std::string, std::string>;  // where each key was set

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
      const std::string key = item.first.Scalar();
      const std::string line = Line(name, item.first);
      if (key == "from") {
        ReadFrom(item.second, line, reader.phase);
      } else if (item.second.IsMap()) {
        for (const auto& inner : item.second) {
          ReadPhaseKey(fmt::format("{}.{}", key, inner.first.Scalar()), inner.second,
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
    Origins set;  // the keys that the phase changes
    PhaseConfig phase;
  };

  void ReadFrom(const YAML::Node& value, const std::string& at, PhaseConfig& phase) const {
    const double least = config_.phases.empty() ? 0 : config_.phases.back().from;
    const auto from = ParseNumber<double>(value.IsScalar() ? value.Scalar() : "");
    if (!from || !(*from > least && *from < 1)) {
      throw InputError(
          fmt::format("{}: `from` is '{}', expected a number above {:g} and below 1: the share of "
                      "the run after which the phase begins",
                      at, value.IsScalar() ? value.Scalar() : "", least));
    }
    phase.from = *from;
  }

  void ReadPhaseKey(const std::string& key, const YAML::Node& value, const std::string& at,
                    PhaseReader& reader) const {
    const Field& known = Find(key, at);
    if (value.IsMap() || value.IsSequence()) {
      throw InputError(fmt::format("{}: `{}` is {}, expected {}", at, key,
                                   value.IsMap() ? "a map" : "a list", Expected(known)));
    }
    if (!PhaseMayChange(key)) {
      throw InputError(fmt::format(
          "{}: a phase cannot change `{}`. It may change {}. Set `{}` for the whole run.", at, key,
          PhaseKeys(), key));
    }
    if (const auto [earlier, is_new] = reader.set.emplace(key, at); !is_new) {
      throw InputError(
          fmt::format("{}: `{}` is set twice, first at {}. Remove one.", at, key, earlier->second));
    }
    const Field& field = *std::ranges::find(reader.fields, key, &Field::key);
    const std::string text = value.IsScalar() ? value.Scalar() : "";
    if (SetOrExplain(field, text, at)) return;
    throw InputError(fmt::format("{}: `{}` is {}, expected {}", at, key,
                                 text.empty() ? "empty" : fmt::format("'{}'", text),
                                 Expected(field)));
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

  void CheckPhase(std::int64_t phase) const {
    const Config config = ConfigOfPhase(config_, phase);
    const Origins& set = phase_origins_[static_cast<std::size_t>(phase - 1)];
    const auto with_origin = [&](const std::string& key) {
      if (!set.contains(key)) return WithOrigin(key);
      return fmt::format("`{}: {}` ({})", key, ValueText(config, key), set.at(key));
    };
    Validate(config, [&](const auto& key, const auto& other, const auto& why) {
      throw InputError(fmt::format("phase {}: {} contradicts {}: {}", phase, with_origin(key),
                                   with_origin(other), why));
    });
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

  std::string WithOrigin(const std::string& key) const {
    const auto field = std::ranges::find(fields_, key, &Field::key);
    const auto origin = origins_.find(key);
    return fmt::format("`{}: {}` ({})", key, FieldText(*field),
                       origin == origins_.end() ? "the default" : origin->second);
  }

  Config& config_;
  const std::vector<Override>& overrides_;
  const std::string domain_;
  std::vector<Field> fields_;
  std::vector<std::string> keys_;
  std::vector<std::string> sections_;
  Origins origins_;
  std::vector<Origins> phase_origins_;  // of the keys that each phase changes
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

Config ParseConfig(const std::string& yaml, const std::string& name,
                   const std::vector<Override>& overrides) {
  Config config;
  try {
    const YAML::Node document = OnlyDocument(yaml, name);
    config.domain = ChooseDomain(document, name, overrides);
    Reader reader(config, overrides);
    reader.ReadDocument(document, name);
    reader.ReadOverrides();
    reader.ExpandNetworkName();
    reader.CheckTogether();
  } catch (const YAML::Exception& error) {
    throw InputError(
        fmt::format("{}:{}: not valid YAML: {}", name, error.mark.line + 1, error.msg));
  }
  return config;
}

Config LoadConfig(const std::filesystem::path& path, const std::vector<Override>& overrides) {
  const std::string yaml = ReadFile(path, kMostConfigBytes);
  Config config = ParseConfig(yaml, path.string(), overrides);
  if (OnlyDocument(yaml, path.string()).IsNull()) {
    LogWarning(
        fmt::format("{}: the config is empty, so every key has its default; the puzzle is {}. To "
                    "silence this warning, write {{}} into the file. `tandem config --reference` "
                    "lists the keys.",
                    path.string(), config.domain.full_name()));
  }
  return config;
}

}  // namespace tandem
