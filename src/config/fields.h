// The keys of a config, as a table: reading, writing and explaining a config all go through it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/train_config.h"
#include "tandem/registry.h"

namespace tandem {

/// As the most of a field: no limit that anyone could mean.
inline constexpr std::int64_t kMany = 1'000'000'000'000;

struct IntField {
  std::int64_t* value;
  std::int64_t least, most;
};

struct AutoIntField {
  AutoInt* value;
  std::int64_t least, most;
};

struct RealField {
  double* value;
  double least, most;
};

/// Nothing where the config says `null`.
struct NullRealField {
  std::optional<double>* value;
  double least, most;
};

struct TextField {
  std::string* value;
  std::string expected;
  bool (*accepts)(std::string_view) = nullptr;  ///< besides not being empty; null: anything
};

/// Empty where the config says `null`.
struct NullTextField {
  std::string* value;
};

/// The argument of a puzzle that has a parameter.
struct ArgumentField {
  std::string* value;
  std::string domain;
  DomainParameter parameter;
};

struct ChoiceField {
  std::vector<std::string> names;
  std::function<std::size_t()> get;
  std::function<void(std::size_t)> set;
};

struct Field {
  std::string key;  ///< with its section: "train.batch_size"
  std::string meaning;
  std::variant<IntField, AutoIntField, RealField, NullRealField, TextField, NullTextField,
               ArgumentField, ChoiceField>
      value;

  std::string section() const;  ///< "train"; "" where the key has none
  std::string name() const;     ///< "batch_size"
};

/// Every key, in the order of the file; the fields point into `config`. The keys under `domain`
/// are those of the puzzle that `config` names.
std::vector<Field> FieldsOf(TrainConfig& config);

/// What a value must be: "a whole number from 1 to 64, or auto".
std::string Expected(const Field& field);

/// Reads `text` into the field. Returns false, and changes nothing, if it is not what is expected.
/// Throws InputError where a puzzle has more to tell about its argument.
bool SetField(const Field& field, std::string_view text);

/// The value as it is written in a config.
std::string FieldText(const Field& field);

/// The value of one key of a config; nothing if there is no such key.
std::optional<std::string> FindValueText(const TrainConfig& config, std::string_view key);

/// The same of a key that exists.
std::string ValueText(const TrainConfig& config, std::string_view key);

}  // namespace tandem
