// Writes the states of a generator to the rows of a buffer, with or without labels.
#pragma once

#include <cstddef>

#include "buffer/data_buffer.h"
#include "generate/bellman.h"
#include "tandem/domain.h"

namespace tandem {

/// The columns of a state that is stored unlabelled, to be labelled when it is trained on: its
/// bytes and an upper bound on its cost-to-go (ExpandedBatch::bounds).
inline constexpr std::size_t kStateColumn = 0;
inline constexpr std::size_t kBoundColumn = 1;
Schema StateSchema(const DomainSpec& spec);

/// RowWriter writes state i of a batch to one row of a buffer, in two calls. Several threads may
/// write different rows at once.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  /// Writes the columns that are known before the children are evaluated.
  virtual void WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                          std::size_t row) const = 0;
  /// Writes the label. Requires that the children of the batch were evaluated.
  virtual void WriteLabel(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                          std::size_t row) const = 0;
};

/// ExampleWriter writes labelled rows (ExampleSchema).
class ExampleWriter final : public RowWriter {
 public:
  /// `domain` must outlive this.
  ExampleWriter(const Domain& domain, Head head, bool capped);

  void WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;
  void WriteLabel(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;

 private:
  const Domain& domain_;
  const BellmanLabels labels_;
  const std::size_t width_;  // floats per label
};

/// StateWriter writes unlabelled rows (StateSchema).
class StateWriter final : public RowWriter {
 public:
  void WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;
  void WriteLabel(const ExpandedBatch& /*batch*/, std::size_t /*i*/, DataBuffer& /*out*/,
                  std::size_t /*row*/) const override {}
};

}  // namespace tandem
