#include "config/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>
#include <variant>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
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
// names `file` if the text is too long, and also the line if it has a NUL byte or begins a second
// document, which YAML::Load would silently ignore. Throws YAML::Exception if it is not YAML.
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

// Returns the line of `error` and why `yaml` is not YAML: "3: not valid YAML: ...".
std::string DescribeYamlError(const std::string& yaml, const YAML::Exception& error) {
  std::istringstream lines(yaml);
  std::string line;
  for (int i = 0; i <= error.mark.line; ++i) std::getline(lines, line);
  const std::string indentation = line.substr(0, line.find_first_not_of(" \t"));
  // yaml-cpp calls a file bad that nests too deeply.
  const std::string why =
      error.msg == YAML::ErrorMsg::BAD_FILE ? "values nest too deeply" : error.msg;
  return fmt::format("{}: not valid YAML: {}{}", error.mark.line + 1, why,
                     indentation.find('\t') == std::string::npos
                         ? ""
                         : "; the line is indented with a tab. Indent YAML with spaces, not tabs.");
}

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

// Returns the puzzle that `overrides` or the document name, or else the default puzzle, with the
// default argument. Comes before other keys are read, because the keys under `domain` depend on it.
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

// Returns why the path of `key` cannot be used; "" if it can.
std::string WhyMissing(const std::string& key, const PathField& path) {
  std::error_code error;  // a path that cannot be looked up is reported when it is opened
  const std::filesystem::file_status status = std::filesystem::status(*path.value, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fmt::format("`{}`: {}: no such {}", key, *path.value, path.kind);
  }
  const bool is_right = !path.is_folder() || error || std::filesystem::is_directory(status);
  return is_right ? "" : fmt::format("`{}`: {}: not a folder", key, *path.value);
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
      if (IsSection(key, entry.second, at)) {
        SetOnce(key, at);
        ReadSection(key, entry.second, name);
      } else {
        Read(key, entry.second, at);
      }
    }
  }

  void ReadOverrides() {
    for (const Override& override : overrides_) {
      Store(Find(override.key, override.origin), override.value, override.origin);
      origins_[override.key] = override.origin;
    }
  }

  void CheckPaths(PathsOf work) const {
    const std::optional<MissingPath> missing = FindMissingPath(config_, work);
    if (!missing) return;
    throw InputError(fmt::format("{}: {}", origins_.at(missing->key), missing->message));
  }

  void CheckTogether() const {
    Validate(config_, [&](const auto& key, const auto& other, const auto& why) {
      throw InputError(
          fmt::format("{} contradicts {}: {}", WithOrigin(key), WithOrigin(other), why));
    });
  }

 private:
  // Remembers that `key` is set at `at`. Throws InputError if it was set before.
  void SetOnce(const std::string& key, const std::string& at) {
    const auto [earlier, is_new] = origins_.emplace(key, at);
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
    SetOnce(key, at);
    if (std::holds_alternative<ArgumentField>(field.value) && IsOverridden(overrides_, key)) {
      return;  // the overridden argument may name a file that no longer exists
    }
    Store(field, text, at);
  }

  const Field& Find(const std::string& key, const std::string& at) const {
    const auto found = std::ranges::find(fields_, key, &Field::key);
    if (found != fields_.end()) return *found;
    throw InputError(
        fmt::format("{}: unknown key `{}`{}", at, key, SuggestKey(key, fields_, domain_)));
  }

  static void Store(const Field& field, const std::string& value, const std::string& at) {
    try {
      if (SetField(field, value)) return;
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: `{}`: {}", at, field.key, error.what()));
    }
    throw InputError(fmt::format("{}: `{}` is {}, expected {}{}", at, field.key,
                                 value.empty() ? "empty" : fmt::format("'{}'", value),
                                 Expected(field), Advice(field.key)));
  }

  // What to do about a value that is not accepted; "" if there is no advice.
  static std::string Advice(const std::string& key) {
    if (key != "network.kind") return "";
    return ", or a network that this program registers. A network in Python is known after "
           "tandem.register_network, in programs that call it.";
  }

  std::string WithOrigin(const std::string& key) const {
    const auto origin = origins_.find(key);
    return fmt::format("`{}: {}` ({})", key, ValueText(config_, key),
                       origin == origins_.end() ? "the default" : origin->second);
  }

  Config& config_;
  const std::vector<Override>& overrides_;
  const std::string domain_;
  std::vector<Field> fields_;
  std::map<std::string, std::string> origins_;  // where each key was set
};

Config Parse(const std::string& yaml, const std::string& name,
             const std::vector<Override>& overrides, PathsOf must_exist) {
  Config config;
  try {
    const YAML::Node document = OnlyDocument(yaml, name);
    config.domain = ChooseDomain(document, name, overrides);
    Reader reader(config, overrides);
    reader.ReadDocument(document, name);
    reader.ReadOverrides();
    reader.CheckTogether();
    reader.CheckPaths(must_exist);
  } catch (const YAML::Exception& error) {
    throw InputError(fmt::format("{}:{}", name, DescribeYamlError(yaml, error)));
  }
  return config;
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

std::vector<Override> ForThisMachine(std::string_view origin,
                                     const std::vector<Override>& overrides,
                                     const std::vector<std::string>& also) {
  Config config;
  std::vector<Override> all;
  for (const Field& field : FieldsOf(config)) {
    const bool chosen = field.traits.is_of_machine || std::ranges::count(also, field.key) > 0;
    if (chosen) all.push_back({field.key, "auto", std::string(origin)});
  }
  all.insert(all.end(), overrides.begin(), overrides.end());
  return all;
}

std::optional<MissingPath> FindMissingPath(Config config, PathsOf work) {
  if (work == PathsOf::kNothing) return std::nullopt;
  for (const Field& field : FieldsOf(config)) {
    const auto* const path = std::get_if<PathField>(&field.value);
    if (path == nullptr || path->value->empty() || !path->must_exist(config, work)) continue;
    const std::string message = WhyMissing(field.key, *path);
    if (!message.empty()) return MissingPath{field.key, message};
  }
  return std::nullopt;
}

Config ParseConfig(const std::string& yaml, const std::string& name,
                   const std::vector<Override>& overrides) {
  return Parse(yaml, name, overrides, PathsOf::kNothing);
}

Config LoadConfig(const std::filesystem::path& path, const std::vector<Override>& overrides,
                  PathsOf must_exist) {
  const std::string yaml = ReadInput(path, kMostConfigBytes);
  Config config = Parse(yaml, path.string(), overrides, must_exist);
  if (YAML::Load(yaml).IsNull()) {
    LogWarning(
        fmt::format("{}: the config is empty, so every key has its default; the puzzle is {}. To "
                    "silence this warning, write {{}} into the file. `tandem config --reference` "
                    "lists the keys.",
                    path.string(), config.domain.full_name()));
  }
  return config;
}

}  // namespace tandem
