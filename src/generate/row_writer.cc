#include "generate/row_writer.h"

#include <algorithm>

#include "generate/generator.h"

namespace tandem {

Schema StateSchema(const DomainSpec& spec) {
  return {.columns = {{.name = "state",
                       .type = ElementType::kUint8,
                       .width = static_cast<std::size_t>(spec.state_size)},
                      {.name = "bound", .type = ElementType::kFloat32, .width = 1}}};
}

ExampleWriter::ExampleWriter(const Domain& domain, Head head, bool capped)
    : domain_(domain),
      labels_(domain.spec(), head, capped),
      width_(TargetWidth(domain.spec(), head)) {}

void ExampleWriter::WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                               std::size_t row) const {
  domain_.Encode(batch.rows().Slice(i, 1), out.column(kInputColumn).Slice(row, 1));
}

void ExampleWriter::WriteLabel(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                               std::size_t row) const {
  labels_.Write(batch, i, out.floats(kTargetColumn).subspan(row * width_, width_));
}

void StateWriter::WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                             std::size_t row) const {
  std::ranges::copy(batch.rows()[i], out.column(kStateColumn)[row].begin());
  out.floats(kBoundColumn)[row] = batch.bounds[i];
}

}  // namespace tandem
