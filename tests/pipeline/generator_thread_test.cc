#include "pipeline/generator_thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "generate/generator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Returns column `column` of the rows that ranks 0 to `ranks` - 1 make for an update, `rows` each.
std::vector<std::uint8_t> RowsOf(std::int64_t ranks, std::int64_t rows, std::size_t column) {
  Config config;
  config.generate.max_scramble = 7;  // no divisor of the rows, so walks cross from rank to rank
  config.generate.workers = 2;
  config.generate.chunk_rows = 16;
  const auto domain = MakeDomain("cube2");
  std::vector<std::uint8_t> all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto generator = MakeGenerator(*domain, config, /*evaluator=*/nullptr);
    const StopSignal stop;
    GeneratorThread fills(*generator, rows, /*queue=*/nullptr, stop, /*interrupter=*/nullptr, rank);
    fills.Start(/*update=*/3, std::nullopt);
    const GeneratorThread::Filled filled = fills.Wait();
    const DataBuffer& buffer = filled.slot.rows();
    for (std::size_t i = 0; i < buffer.rows(); ++i) {
      const auto row = buffer.column(column)[i];
      all.insert(all.end(), row.begin(), row.end());
    }
  }
  return all;
}

TEST(GeneratorThread, RanksTogetherMakeTheRowsOfOneProcess) {
  for (const std::size_t column : {kInputColumn, kTargetColumn}) {
    const std::vector<std::uint8_t> whole = RowsOf(1, 150, column);
    EXPECT_EQ(RowsOf(3, 50, column), whole);
    EXPECT_FALSE(std::equal(whole.begin(), whole.begin() + whole.size() / 3,
                            whole.begin() + whole.size() / 3));
  }
}

}  // namespace
}  // namespace tandem
