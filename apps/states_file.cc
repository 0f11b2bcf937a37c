#include "apps/states_file.h"

#include <fmt/format.h>

#include <sstream>

#include "base/file.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using nlohmann::json;

void ReadJson(const std::string& text, StateLine& line) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) throw InputError("not a JSON object");
  if (object.contains("id")) line.id = object["id"];
  if (!object.contains("state") || !object["state"].is_string()) {
    throw InputError("expected `state`, a text in quotes");
  }
  line.text = object["state"];
  if (object.contains("optimal") && !object["optimal"].is_null()) {
    if (!object["optimal"].is_number_integer()) {
      throw InputError("expected `optimal` to be a whole number");
    }
    line.optimal = object["optimal"].get<int>();
  }
}

StateLine ReadLine(const std::string& text, std::size_t number, const Domain& domain,
                   const std::string& file) {
  StateLine line{.id = number};
  try {
    if (text.front() == '{') {
      ReadJson(text, line);
    } else {
      line.text = text;
    }
    std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
    domain.ParseState(line.text, state);
    line.state = std::move(state);
  } catch (const InputError& error) {
    line.error = fmt::format("{}:{}: {}", file, number, error.what());
  }
  return line;
}

std::string Trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

std::vector<StateLine> ReadStates(const std::filesystem::path& path, const Domain& domain,
                                  std::optional<std::size_t> limit) {
  std::istringstream in(ReadFile(path));
  std::vector<StateLine> lines;
  std::string text;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    if (limit && lines.size() == *limit) break;
    text = Trimmed(text);
    if (text.empty() || text.front() == '#') continue;
    lines.push_back(ReadLine(text, number, domain, path.string()));
  }
  if (lines.empty()) throw InputError(fmt::format("{} holds no state", path.string()));
  return lines;
}

}  // namespace tandem
