#include "config/reference.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/fields.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kColumns = 80;

constexpr std::string_view kPreamble =
    "Every key of a config, with its meaning, its default and the values that it accepts. A config "
    "needs only the keys that differ from the defaults. The keys marked [try first] are the ones "
    "to "
    "start with.";

constexpr std::string_view kTryFirstMark = "[try first] ";

// Formats `text` as comment lines, broken between words.
std::string Comment(std::string_view text, std::string_view indent) {
  std::string lines;
  std::string line;
  const auto end_line = [&] {
    lines += fmt::format("{}#{}\n", indent, line);
    line.clear();
  };
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!line.empty() && indent.size() + 2 + line.size() + word.size() > kColumns) end_line();
    line += fmt::format(" {}", word);
  }
  end_line();
  return lines;
}

std::string Scalar(const std::string& text) {
  if (text == "null") return text;  // the emitter would quote it as a string
  YAML::Emitter out;
  out << text;
  return out.c_str();
}

// A key as the reference prints it.
struct Entry {
  std::string meaning;
  std::string setting;  // "batch_size: 1000"
  std::string expected;

  bool operator==(const Entry&) const = default;
};

Entry EntryOf(const Field& field) {
  return {.meaning = fmt::format("{}{}", field.try_first ? kTryFirstMark : "", field.meaning),
          .setting = fmt::format("{}: {}", field.name(), Scalar(FieldText(field))),
          .expected = Expected(field)};
}

// Returns the keys that only some puzzles have, commented out, because a config of the defaults
// must not set them. Puzzles whose keys have the same description share an entry.
std::vector<Entry> ParametersOfDomains() {
  std::vector<Entry> entries;
  std::vector<std::string> names;  // names[i]: the puzzles that share entries[i]
  for (const std::string& name : DomainNames()) {
    const DomainParameter* parameter = ParameterOf(name);
    if (parameter == nullptr) continue;
    Entry entry{
        .meaning = parameter->meaning,
        .setting = fmt::format("# {}: {}", parameter->key, Scalar(parameter->default_value)),
        .expected = parameter->expected};
    const auto same = std::ranges::find(entries, entry);
    if (same != entries.end()) {
      std::string& all = names[same - entries.begin()];
      all = fmt::format("{}, {}", all, name);
    } else {
      entries.push_back(std::move(entry));
      names.push_back(name);
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

}  // namespace tandem
