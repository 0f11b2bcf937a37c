#include "config/only_document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "tandem/error.h"

namespace tandem {
namespace {

// Of the events of a parser, the begin of each document.
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

// The parser takes the first NUL for the end of the text, so that a file whose contents a power cut
// replaced by NUL bytes would look empty.
void CheckIsText(const std::string& yaml, const std::string& file) {
  const std::size_t at = yaml.find('\0');
  if (at == std::string::npos) return;
  const auto end = yaml.begin() + static_cast<std::ptrdiff_t>(at);
  throw InputError(
      fmt::format("{}:{}: byte {} is NUL, which no text has: the file is damaged or is no config. "
                  "Expected YAML "
                  "such as `seed: 1`",
                  file, std::count(yaml.begin(), end, '\n') + 1, at + 1));
}

}  // namespace

// Not YAML::LoadAll, which never returns where a document would begin with a comma: the parser
// takes that for an empty document before the comma, over and over.
YAML::Node OnlyDocument(const std::string& yaml, const std::string& file) {
  CheckIsText(yaml, file);
  std::istringstream in(yaml);
  YAML::Parser parser(in);
  DocumentStarts starts;
  const std::vector<YAML::Mark>& marks = starts.marks;
  while (marks.size() < 3 && parser.HandleNextDocument(starts)) {
    if (marks.size() < 2 || marks.back().pos != marks[marks.size() - 2].pos) continue;
    throw InputError(fmt::format("{}:{}: not valid YAML: nothing can begin as column {} does", file,
                                 marks.back().line + 1, marks.back().column + 1));
  }
  if (marks.size() > 1) {
    throw InputError(fmt::format("{}:{}: a second YAML document begins here, but a config is one",
                                 file, marks[1].line + 1));
  }
  return YAML::Load(yaml);
}

}  // namespace tandem
