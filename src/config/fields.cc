#include "config/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace tandem {
namespace {

// The names that NetworkKindNames returns.
std::vector<std::string>& KindNames() {
  static std::vector<std::string> names = [] {
    std::vector<std::string> own;
    own.reserve(kNetworkKinds.size());
    for (const NetworkKindRow& kind : kNetworkKinds) own.emplace_back(kind.name);
    return own;
  }();
  return names;
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// Writes a limit exactly, and a whole number with separators.
std::string Limit(double limit) {
  constexpr double kMostExact = 1e15;  // below, each whole number is a double
  const bool is_whole = std::abs(limit) < kMostExact && limit == std::trunc(limit);
  return is_whole ? WithThousands(static_cast<long long>(limit)) : fmt::format("{}", limit);
}

std::string Range(double least, double most) {
  return fmt::format("a number from {} to {}", Limit(least), Limit(most));
}

std::string Range(std::int64_t least, std::int64_t most) {
  if (most == kMany) return fmt::format("a whole number of at least {}", least);
  return fmt::format("a whole number from {} to {}", least, WithThousands(most));
}

// Parses `text` into the value of `field`. Returns false, and changes nothing, if it does not fit.

template <class Value>
bool Set(const NumberField<Value>& field, std::string_view text) {
  using Number = typename NumberField<Value>::Number;
  const auto number = ParseNumber<Number>(text);
  if (!number || !(*number >= field.least && *number <= field.most)) return false;
  *field.value = *number;
  return true;
}

template <class Value>
bool SetOptional(const NumberField<std::optional<Value>>& field, std::string_view text) {
  const bool is_null = text.empty() && !std::is_integral_v<Value>;  // YAML's null
  if (text != field.kNothing && !is_null) return Set(field, text);
  field.value->reset();
  return true;
}

bool SetTextOrNull(std::string& value, std::string_view text) {
  value = text == "null" ? "" : text;
  return true;
}

std::string TextOrNull(const std::string& value) { return value.empty() ? "null" : value; }

}  // namespace

std::string Field::section() const {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string Field::name() const { return key.substr(key.find('.') + 1); }

std::string Expected(const Field& field) {
  return std::visit(
      Overloaded{
          []<class Value>(const NumberField<Value>& f) { return Range(f.least, f.most); },
          []<class Value>(const NumberField<std::optional<Value>>& f) {
            return fmt::format("{}, or {}", Range(f.least, f.most), f.kNothing);
          },
          [](const TextField& f) { return f.expected; },
          [](const PathField&) { return std::string("a path, or null"); },
          [](const ArgumentField& f) { return f.parameter.expected; },
          [](const ChoiceField& f) { return fmt::format("one of {}", fmt::join(f.names, ", ")); },
      },
      field.value);
}

bool SetField(const Field& field, std::string_view text) {
  return std::visit(Overloaded{
                        [&]<class Value>(const NumberField<Value>& f) { return Set(f, text); },
                        [&]<class Value>(const NumberField<std::optional<Value>>& f) {
                          return SetOptional(f, text);
                        },
                        [&](const TextField& f) {
                          if (f.may_be_null) return SetTextOrNull(*f.value, text);
                          if (text.empty() || (f.accepts != nullptr && !f.accepts(text))) {
                            return false;
                          }
                          *f.value = text;
                          return true;
                        },
                        [&](const PathField& f) { return SetTextOrNull(*f.value, text); },
                        [&](const ArgumentField& f) {
                          if (!AcceptsArgument(f.domain, std::string(text))) return false;
                          *f.value = text;
                          return true;
                        },
                        [&](const ChoiceField& f) {
                          const auto found = std::ranges::find(f.names, text);
                          if (found == f.names.end()) return false;
                          f.set(static_cast<std::size_t>(found - f.names.begin()));
                          return true;
                        },
                    },
                    field.value);
}

std::string FieldText(const Field& field) {
  return std::visit(
      Overloaded{
          []<class Value>(const NumberField<Value>& f) { return fmt::format("{}", *f.value); },
          []<class Value>(const NumberField<std::optional<Value>>& f) {
            return *f.value ? fmt::format("{}", **f.value) : std::string(f.kNothing);
          },
          [](const TextField& f) { return f.may_be_null ? TextOrNull(*f.value) : *f.value; },
          [](const PathField& f) { return TextOrNull(*f.value); },
          [](const ArgumentField& f) {
            return f.value->empty() ? f.parameter.default_value : *f.value;
          },
          [](const ChoiceField& f) { return f.names.at(f.get()); },
      },
      field.value);
}

std::vector<std::string> NetworkKindNames() { return KindNames(); }

void AddNetworkKindName(std::string name) {
  if (std::ranges::count(KindNames(), name) == 0) KindNames().push_back(std::move(name));
}

std::optional<std::string> FindValueText(const Config& config, std::string_view key) {
  Config copy = config;
  const std::optional<Field> field = FindField(copy, key);
  if (!field) return std::nullopt;
  return FieldText(*field);
}

std::string ValueText(const Config& config, std::string_view key) {
  return FindValueText(config, key).value();
}

std::optional<int> CudaIndex(std::string_view name) {
  if (name == "cuda") return 0;
  if (!name.starts_with("cuda:")) return std::nullopt;
  name.remove_prefix(5);
  const auto index = ParseNumber<int>(name);
  return index && *index >= 0 ? index : std::nullopt;
}

bool IsDeviceName(std::string_view name) {
  return name == "auto" || name == "cpu" || CudaIndex(name).has_value();
}

}  // namespace tandem
