#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "config/fields.h"
#include "config/load.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Joins the lines of each comment, so that a meaning can be found.
std::string Unwrapped(const std::string& text) {
  return std::regex_replace(text, std::regex("\n *# +"), " ");
}

std::string OneLine(std::string meaning) {
  std::ranges::replace(meaning, '\n', ' ');
  return meaning;
}

TEST(ConfigReference, IsAConfigWithEveryDefault) {
  const Config defaults;
  EXPECT_EQ(ToYaml(ParseConfig(ConfigReference(), "reference")), ToYaml(defaults));
}

TEST(ConfigReference, SetsEveryKeyWithItsMeaningAndAcceptedValues) {
  Config defaults;
  const std::string reference = ConfigReference();
  const std::string unwrapped = Unwrapped(reference);
  for (const Field& field : FieldsOf(defaults)) {
    if (std::holds_alternative<ArgumentField>(field.value)) continue;  // tested below
    const std::string indent = field.section().empty() ? "\n" : "\n  ";
    EXPECT_NE(reference.find(indent + field.name() + ": " + FieldText(field)), std::string::npos)
        << field.key;
    EXPECT_NE(unwrapped.find(OneLine(field.meaning)), std::string::npos) << field.key;
    EXPECT_NE(unwrapped.find(fmt::format(" {}", Expected(field))), std::string::npos) << field.key;
  }
}

TEST(ConfigReference, HasCommentedKeysForPuzzlesWithAParameter) {
  const DomainParameter& size = *ParameterOf("npuzzle");
  const std::string reference = ConfigReference();
  EXPECT_NE(reference.find("  # Only for npuzzle: " + size.meaning + "."), std::string::npos);
  EXPECT_NE(Unwrapped(reference).find("Only for cube2, cube2_htm, cube3, cube3_htm: "),
            std::string::npos);
  EXPECT_NE(reference.find("  # size: 4 "), std::string::npos);
  EXPECT_NE(reference.find("# " + size.expected + "\n"), std::string::npos);
}

TEST(ConfigReference, MarksExactlyTheKeysToTryFirst) {
  Config defaults;
  const std::string unwrapped = Unwrapped(ConfigReference());
  for (const Field& field : FieldsOf(defaults)) {
    const bool marked =
        unwrapped.find("[try first] " + OneLine(field.meaning)) != std::string::npos;
    EXPECT_EQ(marked, field.traits.try_first) << field.key;
  }
}

TEST(ConfigReference, FitsATerminal) {
  std::istringstream lines(ConfigReference());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(StarterConfig, HasTheKeysToTryFirstAndThoseThatDiffer) {
  const Config config = ParseConfig(
      "domain: {name: npuzzle, size: 5}\n"
      "network: {width: 64}\n"
      "optimizer: {schedule: linear}\n",
      "test");
  const std::string starter = StarterConfig(config, "Trains on tiles.");
  EXPECT_EQ(ToYaml(ParseConfig(starter, "starter")), ToYaml(config));
  EXPECT_TRUE(starter.starts_with("# Trains on tiles.\n"));
  Config copy = config;
  const std::string unwrapped = Unwrapped(starter);
  for (const Field& field : FieldsOf(copy)) {
    const bool is_wanted =
        field.traits.try_first || field.key == "domain.size" || field.key == "optimizer.schedule";
    const std::string setting = "\n  " + field.name() + ": " + FieldText(field);
    EXPECT_EQ(unwrapped.find(OneLine(field.meaning)) != std::string::npos, is_wanted) << field.key;
    EXPECT_TRUE(!is_wanted || starter.find(setting) != std::string::npos) << field.key;
  }
  std::istringstream lines(starter);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace tandem
