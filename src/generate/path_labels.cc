#include "generate/path_labels.h"

#include <algorithm>

#include "base/timeline.h"
#include "data/examples.h"
#include "search/search.h"

namespace tandem {
namespace {

void WriteLabel(const DomainSpec& spec, Head head, std::span<const Action> rest, DataBuffer& out,
                std::size_t row) {
  const std::size_t width = out.schema().columns[kTargetColumn].width;
  std::span<float> label = out.floats(kTargetColumn).subspan(row * width, width);
  std::ranges::fill(label, 0.0F);
  const float cost = CostOf(spec, rest);
  switch (head) {
    case Head::kV:
      label[0] = cost;
      return;
    case Head::kQIn:
      label[0] = rest.empty() ? spec.action_costs[0] : cost;
      return;
    case Head::kQ: {
      const std::span<float> weight = out.floats(kWeightColumn).subspan(row * width, width);
      std::ranges::fill(weight, 0.0F);
      if (rest.empty()) return;
      label[rest.front()] = cost;
      weight[rest.front()] = 1;
      return;
    }
    case Head::kPolicy:
      if (!rest.empty()) label[rest.front()] = 1;
      return;
    case Head::kVp:
      label[0] = cost;
      if (!rest.empty()) label[1 + std::size_t{rest.front()}] = 1;
      return;
  }
}

}  // namespace

void WritePathExample(const Domain& domain, Head head, std::span<const std::uint8_t> state,
                      std::span<const Action> rest, DataBuffer& out, std::size_t row) {
  const Span span(Phase::kWrite);
  WriteLabel(domain.spec(), head, rest, out, row);
  const Action first = rest.empty() ? Action{0} : rest.front();
  EncodeInputs(domain, ConstRows(state), {&first, 1}, out.column(kInputColumn).Slice(row, 1));
}

}  // namespace tandem
