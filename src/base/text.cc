#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <utility>

#include "tandem/error.h"

namespace tandem {

// Computes one row of the table of distances at a time.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string_view Nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 100;
  std::string_view best;
  if (word.size() > kLongestWord) return best;
  std::size_t best_distance = 1 + std::max<std::size_t>(word.size() / 3, 2);
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string WithThousands(long long value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

double RoundedReal(double value) {
  return ParseNumber<double>(fmt::format("{:.6g}", value)).value_or(value);
}

double RoundedSeconds(double seconds) { return std::round(seconds * 1e6) / 1e6; }

std::string XmlEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const std::string_view name = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : "";
    escaped += name.empty() ? std::string_view(&c, 1) : name;
  }
  return escaped;
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((letter < ' ' && letter != '\n' && letter != '\t') || letter == 0x7f) {
      printable += fmt::format("\\x{:02x}", letter);
    } else if (letter == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F
      printable += fmt::format("\\x{:02x}", next);
      ++i;
    } else {
      printable += text[i];
    }
  }
  return printable;
}

std::string ShellWord(std::string_view path) {
  constexpr std::string_view kPlain = "/._-+=:,@%";
  const auto is_control = [](unsigned char letter) { return letter < ' ' || letter == 0x7f; };
  const auto is_plain = [&](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter >= 0x80 ||
           kPlain.find(static_cast<char>(letter)) != std::string_view::npos;
  };
  std::string word = (path.starts_with('-') ? "./" : "") + std::string(path);
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  const bool escapes = std::ranges::any_of(word, is_control);
  std::string quoted = escapes ? "$'" : "'";
  for (const char letter : word) {
    if (is_control(static_cast<unsigned char>(letter))) {
      quoted += fmt::format("\\{:03o}", static_cast<int>(letter));
    } else if (escapes && (letter == '\'' || letter == '\\')) {
      quoted += fmt::format("\\{}", letter);
    } else if (letter == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += letter;
    }
  }
  return quoted + '\'';
}

std::string Counted(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", WithThousands(count), noun, count == 1 ? "" : "s");
}

std::string OneOf(std::span<const std::string_view> names) {
  if (names.size() < 2) return std::string(names.empty() ? "" : names.front());
  return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

std::string HumanSeconds(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string HumanBytes(double bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::vector<std::string> SplitList(std::string_view text, std::string_view option) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part(text.substr(begin, end - begin));
    if (part.empty()) {
      throw InputError(fmt::format("{} {}: expected values separated by commas", option, text));
    }
    if (std::ranges::find(parts, part) != parts.end()) {
      throw InputError(fmt::format("{} {}: `{}` is listed twice", option, text, part));
    }
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

std::string TextTable(std::span<const std::vector<std::string>> columns) {
  std::vector<std::string> lines(columns.front().size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::vector<std::string>& cells = columns[c];
    const std::size_t width = std::ranges::max_element(cells, {}, &std::string::size)->size();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += c == 0 ? fmt::format("{:<{}}", cells[i], width)
                         : fmt::format("  {:>{}}", cells[i], width);
    }
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace tandem
