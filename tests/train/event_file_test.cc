#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "train/tensorboard.h"

namespace tandem {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::StartsWith;

// Returns the messages of all records, without checking their checksums. (tests/cli/
// tensorboard_test.py checks those, and decodes the messages.)
std::vector<std::string> Messages(const std::string& file) {
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    messages.push_back(file.substr(at + 12, length));
    at += 12 + length + 4;
  }
  return messages;
}

class Events : public testing::Test {
 protected:
  const TempFolder temp_;
  const std::filesystem::path path_ = temp_.path() / "events.out.tfevents.1.test";
};

TEST_F(Events, BeginWithTheBytesOfEveryTensorFlowEventFile) {
  { const EventFile file(path_, 1); }
  const std::string bytes = ReadFile(path_);
  // A record of 24 bytes, the checksum of that number, and a message with a time and the version.
  EXPECT_THAT(bytes, StartsWith("\x18\0\0\0\0\0\0\0\xA3\x7F\x4B\x22\x09"s));
  EXPECT_EQ(Messages(bytes).at(0).substr(9),
            "\x1A\x0D"
            "brain.Event:2");
}

TEST_F(Events, SayAtTheStartFromWhichStepTheyReplaceEarlierOnes) {
  { const EventFile file(path_, 300); }
  EXPECT_EQ(Messages(ReadFile(path_)).at(1).substr(9), "\x10\xAC\x02\x3A\x02\x08\x01");
}

TEST_F(Events, HaveTheTagAndTheValueOfAScalar) {
  EventFile file(path_, 1);
  file.AddScalars(7, {{"train/loss", 1.0}, {"x", -2.0}});
  const std::vector<std::string> messages = Messages(ReadFile(path_));  // the file is still open
  ASSERT_EQ(messages.size(), 3);
  EXPECT_EQ(messages[2].substr(9),
            "\x10\x07\x2A\x1D"
            "\x0A\x11\x0A\x0Atrain/loss\x15\0\0\x80\x3F"
            "\x0A\x08\x0A\x01x\x15\0\0\0\xC0"s);
}

TEST_F(Events, AFileThatCannotBeCreatedIsNamed) {
  EXPECT_THAT([&] { EventFile(temp_.path() / "missing" / "events", 1); },
              testing::ThrowsMessage<Error>(HasSubstr("missing/events: No such file")));
}

}  // namespace
}  // namespace tandem
