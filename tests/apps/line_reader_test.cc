#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "apps/played_state.h"
#include "base/stop_signal.h"

namespace tandem {
namespace {

// Replaces standard input by a pipe while a test runs.
class LinesFromAPipe : public testing::Test {
 protected:
  LinesFromAPipe() : input_(::dup(STDIN_FILENO)) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    ::dup2(ends_[0], STDIN_FILENO);
    ::close(ends_[0]);
  }
  ~LinesFromAPipe() override {
    End();
    ::dup2(input_, STDIN_FILENO);
    ::close(input_);
  }

  void Write(std::string_view text) {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), std::ssize(text));
  }

  // Ends the input.
  void End() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

  StopSignal stop_;
  LineReader reader_;

 private:
  const int input_;
  std::array<int, 2> ends_ = {-1, -1};
};

TEST_F(LinesFromAPipe, AreReturnedOneByOneAlsoIfTheyArriveTogether) {
  Write("U R\n\nundo\n");
  End();
  EXPECT_EQ(reader_.Next(stop_), "U R");
  EXPECT_EQ(reader_.Next(stop_), "");
  EXPECT_EQ(reader_.Next(stop_), "undo");
  EXPECT_EQ(reader_.Next(stop_), std::nullopt);
}

TEST_F(LinesFromAPipe, LastLineMayLackItsLineFeed) {
  Write("quit");
  End();
  EXPECT_EQ(reader_.Next(stop_), "quit");
  EXPECT_EQ(reader_.Next(stop_), std::nullopt);
}

TEST_F(LinesFromAPipe, ALineLongerThanAReadIsWhole) {
  const std::string longer(10'000, 'x');
  Write(longer + "\nU\n");
  End();
  EXPECT_EQ(reader_.Next(stop_), longer);
  EXPECT_EQ(reader_.Next(stop_), "U");
}

TEST_F(LinesFromAPipe, AStopEndsTheWait) {
  std::optional<std::string> line = "none yet";
  std::thread reading([&] { line = reader_.Next(stop_); });
  stop_.Request();
  reading.join();
  EXPECT_EQ(line, std::nullopt);
}

}  // namespace
}  // namespace tandem
