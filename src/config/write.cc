#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Returns the text of a value as YAML. Where a text needs quotes, yaml-cpp replaces bytes that are
// not UTF-8, and a path may have any bytes. Such a text is quoted here.
std::string Scalar(const std::string& text) {
  if (text == "null") return text;  // the emitter would quote it as a string
  YAML::Emitter out;
  out << text;
  std::string yaml = out.c_str();
  if (!yaml.starts_with('"') || AsUtf8(text) == text) return yaml;
  if (text.find_first_of("\r\n") != std::string::npos) {
    throw InputError(
        fmt::format("a config cannot hold the path '{}', because it has line breaks and bytes that "
                    "are not UTF-8. Rename the file, or make a link to it.",
                    Printable(AsUtf8(text))));
  }
  yaml = "'";
  for (const char c : text) yaml += c == '\'' ? std::string("''") : std::string(1, c);
  return yaml + "'";
}

constexpr std::size_t kColumns = 80;

constexpr std::string_view kPreamble =
    "Every key of a config, with its meaning, its default and the values that it accepts. A config "
    "needs only the keys that differ from the defaults. The keys marked [try first] are the ones "
    "to start with.";

constexpr std::string_view kTryFirstMark = "[try first] ";

// Formats one line of a text as comment lines, broken between words. The lines after the first of a
// list item ("- ...") are indented.
std::string CommentOfLine(std::string_view text, std::string_view indent) {
  const std::string_view hanging = text.starts_with("- ") ? "  " : "";
  std::string lines;
  std::string line;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!line.empty() && indent.size() + 2 + line.size() + word.size() > kColumns) {
      lines += fmt::format("{}#{}\n", indent, line);
      line = hanging;
    }
    line += fmt::format(" {}", word);
  }
  return fmt::format("{}{}#{}\n", lines, indent, line);
}

std::string Comment(std::string_view text, std::string_view indent) {
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += CommentOfLine(text.substr(begin, end - begin), indent);
    begin = end + 1;
  }
  return lines;
}

// A key as the reference prints it.
struct Entry {
  std::string meaning;
  std::string setting;  // "batch_size: 1000"
  std::string expected;

  bool operator==(const Entry&) const = default;
};

Entry EntryOf(const Field& field) {
  return {
      .meaning = fmt::format("{}{}", field.traits.try_first ? kTryFirstMark : "", field.meaning),
      .setting = fmt::format("{}: {}", field.name(), Scalar(FieldText(field))),
      .expected = Expected(field)};
}

// Returns the keys that only some puzzles have, commented out, because a config of the defaults
// must not set them. Puzzles whose keys have the same description share an entry.
std::vector<Entry> ParametersOfDomains() {
  std::vector<Entry> entries;
  std::vector<std::string> names;  // names[i]: the puzzles that share entries[i]
  for (const std::string& name : DomainNames()) {
    Config config;
    config.domain = {.name = name, .argument = "", .pieces = false};
    for (const Field& field : FieldsOf(config)) {
      if (field.section() != "domain" || field.name() == "name") continue;
      Entry entry = EntryOf(field);
      entry.setting = fmt::format("# {}", entry.setting);
      const auto same = std::ranges::find(entries, entry);
      if (same != entries.end()) {
        std::string& all = names[same - entries.begin()];
        all = fmt::format("{}, {}", all, name);
      } else {
        entries.push_back(std::move(entry));
        names.push_back(name);
      }
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].meaning = fmt::format("Only for {}: {}.", names[i], entries[i].meaning);
  }
  return entries;
}

std::string SectionText(std::string_view section, const std::vector<Entry>& entries) {
  const std::string_view indent = section.empty() ? "" : "  ";
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.setting.size());
  std::string text = section.empty() ? "\n" : fmt::format("\n{}:\n", section);
  for (const Entry& entry : entries) {
    text += Comment(entry.meaning, indent);
    if (indent.size() + width + 4 + entry.expected.size() <= kColumns) {
      text += fmt::format("{}{:<{}}  # {}\n", indent, entry.setting, width, entry.expected);
    } else {
      text += Comment(entry.expected, indent) + fmt::format("{}{}\n", indent, entry.setting);
    }
  }
  return text;
}

}  // namespace

std::string ToYaml(const Config& config) {
  Config copy = config;
  std::string yaml;
  std::string open;  // the section being written
  for (const Field& field : FieldsOf(copy)) {
    const std::string section = field.section();
    if (section != open && !section.empty()) yaml += fmt::format("{}:\n", section);
    open = section;
    yaml += fmt::format("{}{}: {}\n", section.empty() ? "" : "  ", field.name(),
                        Scalar(FieldText(field)));
  }
  return yaml;
}

std::string ConfigReference() {
  Config defaults;
  const std::vector<Field> fields = FieldsOf(defaults);
  std::string text = Comment(kPreamble, "");
  for (auto begin = fields.begin(); begin != fields.end();) {
    const std::string section = begin->section();
    std::vector<Entry> entries;
    for (; begin != fields.end() && begin->section() == section; ++begin) {
      if (!std::holds_alternative<ArgumentField>(begin->value)) entries.push_back(EntryOf(*begin));
    }
    if (section == "domain") {
      for (Entry& entry : ParametersOfDomains()) entries.push_back(std::move(entry));
    }
    text += SectionText(section, entries);
  }
  return text;
}

std::string StarterConfig(Config config, std::string_view introduction) {
  Config defaults;
  defaults.domain = config.domain;  // the keys under `domain` depend on the puzzle
  const std::vector<Field> fields = FieldsOf(config);
  const std::vector<Field> default_fields = FieldsOf(defaults);
  std::vector<std::pair<std::string, std::vector<Entry>>> sections;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    const bool is_of_puzzle = field.section() == "domain";
    const bool differs = FieldText(field) != FieldText(default_fields[i]);
    if (!field.traits.try_first && !is_of_puzzle && !differs) continue;
    if (sections.empty() || sections.back().first != field.section()) {
      sections.push_back({field.section(), {}});
    }
    Entry& entry = sections.back().second.emplace_back(EntryOf(field));
    entry.meaning = field.meaning;  // without a mark, because most keys here are to be tried first
  }
  std::string text = Comment(introduction, "");
  for (const auto& [section, entries] : sections) text += SectionText(section, entries);
  return text;
}

}  // namespace tandem
