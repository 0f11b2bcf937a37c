#include "data/data_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/error.h"

namespace tandem {
namespace {

const Schema kSchema{.columns = {{.name = "input", .type = ElementType::kUint8, .width = 54},
                                 {.name = "target", .type = ElementType::kFloat32, .width = 1}}};

TEST(DataBuffer, ColumnsAreContiguousAndAligned) {
  DataBuffer buffer(kSchema, 5);
  EXPECT_EQ(kSchema.row_bytes(), 58U);
  EXPECT_EQ(DataBuffer::BytesFor(kSchema, 5), 320U + 64U);
  const Rows inputs = buffer.column(0);
  const std::span<float> targets = buffer.floats(1);
  EXPECT_EQ(inputs.size(), 5U);
  EXPECT_EQ(inputs.row_size(), 54U);
  EXPECT_EQ(targets.size(), 5U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(inputs.data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(targets.data()) % 64, 0U);

  std::ranges::fill(inputs.bytes(), 7);
  std::ranges::fill(targets, 2.5F);
  const DataBuffer& read = buffer;
  for (const std::uint8_t byte : read.column(0).bytes()) ASSERT_EQ(byte, 7);
  for (const float target : read.floats(1)) ASSERT_EQ(target, 2.5F);
}

TEST(DataBuffer, FloatColumnDoesNotOverlapTheNextColumn) {
  const Schema schema{.columns = {{.name = "bound", .type = ElementType::kFloat32, .width = 7},
                                  {.name = "state", .type = ElementType::kUint8, .width = 9}}};
  DataBuffer buffer(schema, 11);
  std::ranges::fill(buffer.floats(0), 2.5F);
  std::ranges::fill(buffer.column(1).bytes(), 7);
  for (const float bound : buffer.floats(0)) ASSERT_EQ(bound, 2.5F);
}

TEST(DataBuffer, RefusesStorageThatIsTooSmall) {
  EXPECT_THROW(DataBuffer(kSchema, 100, MakeHostStorage(100)), Error);
}

TEST(DataBuffer, AllocationErrorStatesTheSize) {
  const auto make = [] { return DataBuffer(kSchema, std::size_t{1} << 50); };
  EXPECT_THAT(make, testing::ThrowsMessage<LackOfMemory>(testing::EndsWith("TiB")));
  EXPECT_THAT([&] { WithMemoryAdvice("lower train.batch_size", make); },
              testing::ThrowsMessage<Error>(
                  testing::AllOf(testing::StartsWith("not enough memory for a buffer of "),
                                 testing::EndsWith("TiB; lower train.batch_size"))));
}

}  // namespace
}  // namespace tandem
