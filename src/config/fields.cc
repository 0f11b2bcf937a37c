#include "config/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"

namespace tandem {
namespace {

std::vector<std::string>& AddedNames() {
  static std::vector<std::string> names;
  return names;
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string IntRange(std::int64_t least, std::int64_t most) {
  if (most == kMany) return fmt::format("a whole number of at least {}", least);
  return fmt::format("a whole number from {} to {}", least, WithThousands(most));
}

// Writes a limit exactly, and a whole number as IntRange does.
std::string Limit(double limit) {
  constexpr double kMostExact = 1e15;  // below, each whole number is a double
  const bool is_whole = std::abs(limit) < kMostExact && limit == std::trunc(limit);
  return is_whole ? WithThousands(static_cast<long long>(limit)) : fmt::format("{}", limit);
}

std::string RealRange(double least, double most) {
  return fmt::format("a number from {} to {}", Limit(least), Limit(most));
}

}  // namespace

std::string Field::section() const {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string Field::name() const { return key.substr(key.find('.') + 1); }

std::string Expected(const Field& field) {
  return std::visit(
      Overloaded{
          [](const IntField& f) { return IntRange(f.least, f.most); },
          [](const AutoIntField& f) { return IntRange(f.least, f.most) + ", or auto"; },
          [](const RealField& f) { return RealRange(f.least, f.most); },
          [](const NullRealField& f) { return RealRange(f.least, f.most) + ", or null"; },
          [](const TextField& f) { return f.expected; },
          [](const NullTextField& f) { return f.expected; },
          [](const PathField&) { return std::string("a path, or null"); },
          [](const ArgumentField& f) { return f.parameter.expected; },
          [](const ChoiceField& f) { return fmt::format("one of {}", fmt::join(f.names, ", ")); },
      },
      field.value);
}

bool SetField(const Field& field, std::string_view text) {
  const auto set_text_or_null = [&](auto& f) {
    *f.value = text == "null" ? "" : text;
    return true;
  };
  const auto set_int = [&](auto& f) {
    const auto number = ParseNumber<std::int64_t>(text);
    if (!number || *number < f.least || *number > f.most) return false;
    *f.value = *number;
    return true;
  };
  const auto set_real = [&](auto& f) {
    const auto number = ParseNumber<double>(text);
    if (!number || !(*number >= f.least && *number <= f.most)) return false;
    *f.value = *number;
    return true;
  };
  return std::visit(Overloaded{
                        [&](const IntField& f) { return set_int(f); },
                        [&](const AutoIntField& f) {
                          if (text != "auto") return set_int(f);
                          f.value->reset();
                          return true;
                        },
                        [&](const RealField& f) { return set_real(f); },
                        [&](const NullRealField& f) {
                          if (text != "null" && !text.empty()) return set_real(f);
                          f.value->reset();
                          return true;
                        },
                        [&](const TextField& f) {
                          if (text.empty()) return false;
                          if (f.accepts != nullptr && !f.accepts(text)) return false;
                          *f.value = text;
                          return true;
                        },
                        [&](const NullTextField& f) { return set_text_or_null(f); },
                        [&](const PathField& f) { return set_text_or_null(f); },
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
  const auto text_or_null = [](const auto& f) { return f.value->empty() ? "null" : *f.value; };
  return std::visit(
      Overloaded{
          [](const IntField& f) { return fmt::format("{}", *f.value); },
          [](const AutoIntField& f) {
            return f.value->has_value() ? fmt::format("{}", **f.value) : std::string("auto");
          },
          [](const RealField& f) { return fmt::format("{}", *f.value); },
          [](const NullRealField& f) {
            return f.value->has_value() ? fmt::format("{}", **f.value) : std::string("null");
          },
          [](const TextField& f) { return *f.value; },
          [&](const NullTextField& f) { return text_or_null(f); },
          [&](const PathField& f) { return text_or_null(f); },
          [](const ArgumentField& f) {
            return f.value->empty() ? f.parameter.default_value : *f.value;
          },
          [](const ChoiceField& f) { return f.names.at(f.get()); },
      },
      field.value);
}

std::vector<std::string> NetworkKindNames() {
  std::vector<std::string> names;
  names.reserve(kNetworkKinds.size() + AddedNames().size());
  for (const NetworkKindRow& kind : kNetworkKinds) names.emplace_back(kind.name);
  names.insert(names.end(), AddedNames().begin(), AddedNames().end());
  return names;
}

void AddNetworkKindName(std::string name) {
  if (std::ranges::count(NetworkKindNames(), name) == 0) AddedNames().push_back(std::move(name));
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
