// Tests of messages and the status line.
#include "base/log.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Log, MessagesAppearAboveTheStatusLine) {
  constexpr const char* kErase = "\r\x1b[K";
  testing::internal::CaptureStderr();
  ShowStatus("50 %");
  LogInfo("one");
  ShowStatus("60 %");
  LeaveStatus();
  LogWarning("two");
  const std::string erase = kErase;
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            erase + "50 %" + erase + "one\n" + erase + "50 %" + erase + "60 %\nwarning: two\n");
}

TEST(Log, NothingIsErasedWithoutAStatusLine) {
  testing::internal::CaptureStderr();
  LeaveStatus();
  LogInfo("one");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one\n");
}

}  // namespace
}  // namespace tandem
