// Fuzzes the files of a run that `tandem report`, `evaluate` and `compare` read. The first letter
// says which one follows: m for metrics.jsonl, e for the JSON of an evaluation. What is read is
// drawn as a page, which must hold no markup of the file.
#include <string>

#include "fuzz/as_file.h"
#include "report/evaluation.h"
#include "report/report_page.h"
#include "report/run_record.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void AddMetrics(const std::filesystem::path& file, ReportPage& page) {
  const RunRecord run = ReadUpdates(file);
  if (ReadCurve(file).size() != run.curve.size()) std::abort();
  page.learning = LearningCharts(run.curve, {});
  page.values = {ErrorChart(run)};
  page.busy = BusyChart(run);
  page.overlap = OverlapElement(run, /*updates=*/12);
}

void AddEvaluation(const std::filesystem::path& file, ReportPage& page) {
  const EvaluationFile evaluation = ReadEvaluation(file);
  page.values_note = evaluation.states + evaluation.search;
  for (const EvaluatedNetwork& network : evaluation.networks) {
    page.values_note += network.name;
    if (network.figures.known) page.values = ValueCharts(*network.figures.known);
  }
}

ReportPage PageOf(char kind, const std::filesystem::path& file) {
  ReportPage page;
  if (kind == 'm') AddMetrics(file, page);
  if (kind == 'e') AddEvaluation(file, page);
  return page;
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = tandem::AsText(data, size);
  const tandem::AsFile file(text.substr(1));
  try {
    const std::string html = tandem::ReportHtml(tandem::PageOf(text.front(), file.path()));
    if (html.find("<script>alert") != std::string::npos) std::abort();
  } catch (const tandem::InputError&) {
  }
  return 0;
}
