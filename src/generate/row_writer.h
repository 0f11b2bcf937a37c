// How the states of a generator become rows of a buffer.
#pragma once

#include <cstddef>

#include "buffer/data_buffer.h"
#include "generate/bellman.h"
#include "tandem/domain.h"

namespace tandem {

/// The columns of a state that is labelled only when it is trained on: its bytes, and a bound of
/// its cost-to-go from above (Expanded::bounds).
inline constexpr std::size_t kStateColumn = 0;
inline constexpr std::size_t kBoundColumn = 1;
Schema StateSchema(const DomainSpec& spec);

/// Writes what is known of a state before its children are evaluated, and after. Different rows may
/// be written by different threads at once.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void WriteState(const Expanded& batch, std::size_t i, DataBuffer& out,
                          std::size_t row) const = 0;
  virtual void WriteLabel(const Expanded& batch, std::size_t i, DataBuffer& out,
                          std::size_t row) const = 0;
};

/// Rows of ExampleSchema.
class ExampleWriter final : public RowWriter {
 public:
  /// `domain` must outlive this.
  ExampleWriter(const Domain& domain, Head head, bool capped);

  void WriteState(const Expanded& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;
  void WriteLabel(const Expanded& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;

 private:
  const Domain& domain_;
  const BellmanLabels labels_;
  const std::size_t width_;  // of a label
};

/// Rows of StateSchema.
class StateWriter final : public RowWriter {
 public:
  void WriteState(const Expanded& batch, std::size_t i, DataBuffer& out,
                  std::size_t row) const override;
  void WriteLabel(const Expanded& /*batch*/, std::size_t /*i*/, DataBuffer& /*out*/,
                  std::size_t /*row*/) const override {}
};

}  // namespace tandem
