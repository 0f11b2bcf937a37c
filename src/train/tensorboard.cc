#include "train/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "config/load.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Numbers are stored with the lowest byte first, which is how these machines hold them.
static_assert(std::endian::native == std::endian::little);

template <class Number>
std::string BytesOf(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// CRC-32C (Castagnoli), one byte at a time. Events are a few kilobytes per update, so the speed
// does not matter, and Debian 12's Abseil does not have it yet.
constexpr std::array<std::uint32_t, 256> MakeCrcTable() {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = MakeCrcTable();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  }
  return ~crc;
}

// TFRecord masks checksums, so that a checksum of data that contains checksums stays meaningful.
std::uint32_t MaskedCrc32c(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xA282EAD8;
  return std::rotr(Crc32c(bytes), 15) + kMask;
}

// Message encodes a protobuf message, field by field.
class Message {
 public:
  Message& Int(int field, std::int64_t value) {
    Key(field, kVarint);
    Varint(static_cast<std::uint64_t>(value));
    return *this;
  }

  Message& Float(int field, float value) {
    Key(field, kFixed32);
    bytes_ += BytesOf(value);
    return *this;
  }

  Message& Double(int field, double value) {
    Key(field, kFixed64);
    bytes_ += BytesOf(value);
    return *this;
  }

  /// Adds a string, or bytes.
  Message& Text(int field, std::string_view value) {
    Key(field, kLengthPrefixed);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }

  Message& Nested(int field, const Message& message) { return Text(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  // How a value is encoded.
  enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kLengthPrefixed = 2, kFixed32 = 5 };

  void Key(int field, WireType type) { Varint(static_cast<std::uint64_t>(field) << 3 | type); }

  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Fields of TensorBoard's messages: tensorboard/compat/proto/{event,summary,tensor}.proto.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SessionLogField { kStatus = 1 };
constexpr std::int64_t kStartOfSession = 1;  // a status
enum SummaryField { kValue = 1 };
enum ValueField { kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9 };
enum MetadataField { kPluginData = 1 };
enum PluginDataField { kPluginName = 1 };
enum TensorField { kType = 1, kShape = 2, kStringValue = 8 };
constexpr std::int64_t kStringType = 7;  // of a tensor
enum ShapeField { kDimension = 2 };
enum DimensionField { kSize = 1 };

double SecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Message EventAt(std::int64_t step) {
  Message message;
  message.Double(kWallTime, SecondsNow()).Int(kStep, step);
  return message;
}

// Tag is the tag of a key of metrics.jsonl.
struct Tag {
  std::string_view key;
  std::string_view tag;
  double factor = 1;
};

// Keys that have a tag of their own. DeepXube has the tags of the loss and of the costs-to-go
// ("ctgs"), and "val/SEARCH/solved" for the percentage of test states that a search solves. The
// search takes the place of {}.
constexpr auto kTags =
    std::to_array<Tag>({{"loss", "train/loss"},
                        {"learning_rate", "train/learning_rate"},
                        {"label_mean", "train/ctgs/mean"},
                        {"label_min", "train/ctgs/min"},
                        {"label_max", "train/ctgs/max"},
                        {"solve_rate", "val/{}/solved", 100},
                        {"solve_rate_by_length", "val/{}/solved_by_length", 100},
                        {"value_error", "val/value_error"},
                        {"value_error_by_length", "val/value_error_by_length"},
                        {"walk_length_error", "val/walk_length_error"},
                        {"walk_length_error_by_length", "val/walk_length_error_by_length"},
                        {"examples_per_s", "rate/examples_per_s"},
                        {"train_examples_per_s", "rate/train_examples_per_s"},
                        {"generate_examples_per_s", "rate/generate_examples_per_s"},
                        {"idle_main", "idle/main"},
                        {"idle_generator", "idle/generator"},
                        {"lag_updates", "policy_lag/updates"},
                        {"target_age_iterations", "policy_lag/iterations"},
                        {"peak_rss_bytes", "memory/peak_rss_bytes"}});

// Returns the tag of any other key: seconds are in one group, the rest in another.
std::string OtherTag(std::string_view key) {
  return fmt::format("{}/{}", key.ends_with("_s") ? "time" : "run", key);
}

std::pair<std::string, double> Scalar(std::string_view key, double number,
                                      std::string_view search) {
  const std::string_view name = key.substr(0, key.find('/'));
  const auto* const known = std::ranges::find(kTags, name, &Tag::key);
  if (known == kTags.end()) return {OtherTag(key), number};
  return {fmt::format(fmt::runtime(known->tag), search) + std::string(key.substr(name.size())),
          known->factor * number};
}

}  // namespace

EventFile::EventFile(std::filesystem::path path, std::int64_t first_step) : path_(std::move(path)) {
  out_.open(path_, std::ios::binary | std::ios::trunc);
  Write(Message().Double(kWallTime, SecondsNow()).Text(kFileVersion, "brain.Event:2").bytes());
  Write(EventAt(first_step).Nested(kSessionLog, Message().Int(kStatus, kStartOfSession)).bytes());
}

void EventFile::AddScalars(std::int64_t step,
                           const std::vector<std::pair<std::string, double>>& values) {
  Message all;
  for (const auto& [tag, number] : values) {
    all.Nested(kValue, Message().Text(kTag, tag).Float(kSimpleValue, static_cast<float>(number)));
  }
  Write(EventAt(step).Nested(kSummary, all).bytes());
}

void EventFile::AddText(std::int64_t step, const std::string& tag, std::string_view markdown) {
  const Message one_string =
      Message()
          .Int(kType, kStringType)
          .Nested(kShape, Message().Nested(kDimension, Message().Int(kSize, 1)))
          .Text(kStringValue, markdown);
  const Message plugin = Message().Nested(kPluginData, Message().Text(kPluginName, "text"));
  const Message text =
      Message().Text(kTag, tag).Nested(kTensor, one_string).Nested(kMetadata, plugin);
  Write(EventAt(step).Nested(kSummary, Message().Nested(kValue, text)).bytes());
}

void EventFile::Write(std::string_view event) {
  const std::string length = BytesOf(static_cast<std::uint64_t>(event.size()));
  out_ << length << BytesOf(MaskedCrc32c(length)) << event << BytesOf(MaskedCrc32c(event))
       << std::flush;
  if (!out_) throw Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
}

template <class Write>
void TensorBoardLog::WarnOnFailure(const Write& write) {
  try {
    write();
  } catch (const Error& error) {
    LogWarning(fmt::format("{}; the run goes on without events for TensorBoard", error.what()));
    file_.reset();
  }
}

TensorBoardLog::TensorBoardLog(const std::filesystem::path& path, const Config& config,
                               std::int64_t iterations)
    : search_(config.validation.beam_width > 0 ? "beam" : "greedy") {
  WarnOnFailure([&] {
    file_.emplace(path, iterations + 1);
    file_->AddText(iterations, "config", fmt::format("```yaml\n{}```\n", ToYaml(config)));
  });
}

void TensorBoardLog::Add(const nlohmann::ordered_json& line, std::int64_t iterations) {
  if (!file_) return;
  std::vector<std::pair<std::string, double>> scalars;
  const nlohmann::ordered_json flat = line.flatten();  // {"/loss": 1, "/solve_rate_by_length/3": 1}
  for (const auto& [pointer, value] : flat.items()) {
    if (value.is_number()) {
      scalars.push_back(Scalar(std::string_view(pointer).substr(1), value.get<double>(), search_));
    }
  }
  WarnOnFailure([&] { file_->AddScalars(iterations, scalars); });
}

}  // namespace tandem
