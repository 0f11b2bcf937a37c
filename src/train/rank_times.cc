#include "train/rank_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "nn/tensor_file.h"
#include "ranks/ranks.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kHashParts = 4;
constexpr std::size_t kDigitsOfPart = kHashDigits / kHashParts;

// The hash of all tensors, or on a GPU of the sums of their bits, as numbers of 32 bits, which
// doubles hold exactly.
std::vector<double> HashOf(const StateDict& weights) {
  Hash hash;
  HostBytes host;
  if (weights.front().second.is_cpu()) {
    for (const auto& [name, tensor] : weights) hash.Add(host.Of(tensor));
  } else {
    hash.Add(host.Of(SumsOfBits(weights)));
  }
  const std::string hex = hash.Hex();
  std::vector<double> parts;
  for (std::size_t i = 0; i < kHashParts; ++i) {
    parts.push_back(
        static_cast<double>(std::stoul(hex.substr(i * kDigitsOfPart, kDigitsOfPart), nullptr, 16)));
  }
  return parts;
}

// The times of a report, with their names in files and for messages.
struct Time {
  std::string_view key;
  std::string_view name;
  std::vector<double> RankReport::*seconds;
};
constexpr std::array<Time, 4> kTimes = {
    {{"generate", "generating", &RankReport::generate_s},
     {"train", "training", &RankReport::train_s},
     {"wait_for_rows", "waiting for rows", &RankReport::wait_for_rows_s},
     {"wait_for_ranks", "waiting for other ranks", &RankReport::wait_for_ranks_s}}};

std::int64_t Slowest(const std::vector<double>& seconds) {
  return std::ranges::max_element(seconds) - seconds.begin();
}

}  // namespace

void RankReport::Add(const RankReport& more) {
  names = more.names;
  for (const Time& time : kTimes) {
    std::vector<double>& sum = this->*time.seconds;
    const std::vector<double>& seconds = more.*time.seconds;
    sum.resize(seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) sum[i] += seconds[i];
  }
}

RankTimes::RankTimes(Ranks& ranks) : ranks_(ranks), waited_before_s_(ranks.wait_s()) {}

RankReport RankTimes::AddUpdate(const UpdateRecord& record, const StateDict& weights) {
  const double waited_s = ranks_.wait_s() - waited_before_s_;
  std::vector<double> own = HashOf(weights);
  const TrainStats& train = record.train;
  own.insert(own.end(),
             {record.fill.seconds, std::max(0.0, train.seconds - train.wait_for_batch_s - waited_s),
              record.wait_for_rows_s, waited_s});
  const std::vector<std::vector<double>> all = ranks_.Gather(own);
  RankReport report;
  std::vector<std::string> differ;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const std::vector<double>& numbers = all[static_cast<std::size_t>(rank)];
    if (!std::equal(numbers.begin(), numbers.begin() + kHashParts, all[0].begin())) {
      differ.push_back(ranks_.NameOf(rank));
    }
    report.names.push_back(ranks_.NameOf(rank));
    for (std::size_t i = 0; i < kTimes.size(); ++i) {
      (report.*kTimes[i].seconds).push_back(numbers[kHashParts + i]);
    }
  }
  if (!differ.empty()) {
    throw Error(fmt::format(
        "after update {}, the weights of {} differ from those of {}. All ranks must run the same "
        "program on the same kind of machine",
        record.update, fmt::join(differ, ", "), ranks_.NameOf(0)));
  }
  waited_before_s_ = ranks_.wait_s();
  total_.Add(report);
  return report;
}

nlohmann::ordered_json FlatJson(const RankReport& report) {
  nlohmann::ordered_json json = {{"world_size", report.names.size()}};
  for (const Time& time : kTimes) {
    const std::vector<double>& seconds = report.*time.seconds;
    json[fmt::format("ranks_{}_s_min", time.key)] = RoundedSeconds(std::ranges::min(seconds));
    json[fmt::format("ranks_{}_s_max", time.key)] = RoundedSeconds(std::ranges::max(seconds));
    json[fmt::format("ranks_{}_slowest", time.key)] = Slowest(seconds);
  }
  return json;
}

nlohmann::ordered_json ToJson(const RankReport& report) {
  nlohmann::ordered_json json = {{"world_size", report.names.size()}, {"names", report.names}};
  for (const Time& time : kTimes) {
    const std::vector<double>& seconds = report.*time.seconds;
    std::vector<double> rounded;
    rounded.reserve(seconds.size());
    for (const double value : seconds) rounded.push_back(RoundedSeconds(value));
    json[fmt::format("{}_s", time.key)] = rounded;
    json[fmt::format("slowest_{}", time.key)] =
        report.names[static_cast<std::size_t>(Slowest(seconds))];
  }
  return json;
}

std::string DescribeRanks(const RankReport& report) {
  std::vector<std::string> parts;
  for (const Time& time : kTimes) {
    const std::vector<double>& seconds = report.*time.seconds;
    if (std::ranges::max(seconds) < 1e-3) continue;
    parts.push_back(fmt::format("{} took {:.3g} s to {:.3g} s, longest in {}", time.name,
                                std::ranges::min(seconds), std::ranges::max(seconds),
                                report.names[static_cast<std::size_t>(Slowest(seconds))]));
  }
  return fmt::format("{}: {}", Counted(std::ssize(report.names), "rank"), fmt::join(parts, "; "));
}

}  // namespace tandem
