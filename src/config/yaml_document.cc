#include "config/yaml_document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <vector>

#include "base/text.h"
#include "tandem/error.h"

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

}  // namespace

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

}  // namespace tandem
