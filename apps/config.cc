// tandem config --reference, tandem config CONFIG
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct ConfigArgs {
  std::string file;
  bool reference = false;  // print the reference; `file` is then empty
  bool json = false;
  std::vector<Override> overrides;
};

using Json = nlohmann::ordered_json;

Json Number(const std::string& text) {
  if (const auto number = ParseNumber<std::int64_t>(text)) return *number;
  return ParseNumber<double>(text).value();
}

// Returns the value of a field: a number, a switch, null or a text. The kind of the field decides,
// because a file may have the name 007 or true.
Json TypedValue(const Field& field) {
  const std::string text = FieldText(field);
  if (const auto* const f = std::get_if<PathField>(&field.value)) {
    return f->value->empty() ? Json() : Json(text);
  }
  if (const auto* const f = std::get_if<TextField>(&field.value)) {
    return f->may_be_null && f->value->empty() ? Json() : Json(text);
  }
  if (std::holds_alternative<ChoiceField>(field.value)) {
    return text == "false" || text == "true" ? Json(text == "true") : Json(text);
  }
  if (const auto* const f = std::get_if<ArgumentField>(&field.value)) {
    const bool is_size = ParseNumber<std::int64_t>(f->parameter.default_value).has_value();
    const auto side = ParseNumber<std::int64_t>(text);  // unless the size is two sides, as in 3x5
    return is_size && side ? Json(*side) : Json(text);
  }
  if (text == "null") return nullptr;
  return text == "auto" ? Json(text) : Number(text);
}

Json JsonOf(Config config) {
  Json json = Json::object();
  for (const Field& field : FieldsOf(config)) {
    (field.section().empty() ? json : json[field.section()])[field.name()] = TypedValue(field);
  }
  return json;
}

Json JsonOfReference() {
  Config defaults;
  Json keys = Json::array();
  for (const Field& field : FieldsOf(defaults)) {
    keys.push_back({{"key", field.key},
                    {"default", TypedValue(field)},
                    {"meaning", field.meaning},
                    {"expected", Expected(field)},
                    {"try_first", field.traits.try_first}});
  }
  return keys;
}

int RunConfig(const ConfigArgs& args) {
  if (args.reference && !(args.file.empty() && args.overrides.empty())) {
    throw InputError("config: --reference prints the defaults; remove CONFIG and --set");
  }
  if (!args.reference && args.file.empty()) {
    throw InputError(
        "config: expected a config to check and print in full, or --reference to list every key");
  }
  if (args.reference) {
    fmt::print("{}", args.json ? DumpJson(JsonOfReference(), 2) + "\n" : ConfigReference());
    return kDone;
  }
  const Config config = LoadConfig(args.file, args.overrides);
  for (const std::string& sentence : DescribeUnusedKeys(config)) LogWarning(sentence);
  fmt::print("{}", args.json ? DumpJson(JsonOf(config), 2) + "\n" : ToYaml(config));
  return kDone;
}

}  // namespace

void AddConfig(CommandLine& line) {
  const auto [config, args] =
      AddCommand(line, "config",
                 "Describe every config key, or check a config and print it in full", RunConfig);
  AddConfigOption(config, args.file);
  config.add_flag("--reference", args.reference,
                  "Print every key with its default, meaning and accepted values");
  config.add_flag("--json", args.json,
                  "Print JSON: an object of sections or, with --reference, an array of keys");
  AddSetOption(config, args.overrides);
  config.footer(
      "The output is itself a config, with every key.\n\n"
      "  tandem config --reference > my.yaml\n"
      "  tandem config configs/quickstart.yaml --set train.batch_size=1000\n\n"
      "An error names the line of a mistake. `auto` is printed as it is, because its value\n"
      "depends on the machine.");
}

}  // namespace tandem
