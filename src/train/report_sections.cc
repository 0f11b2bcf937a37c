#include "train/report_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "nn/tensor_file.h"
#include "ranks/ranks.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

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

// The times of the ranks, with their names in files and for messages.
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

std::size_t Slowest(const std::vector<double>& seconds) {
  return static_cast<std::size_t>(std::ranges::max_element(seconds) - seconds.begin());
}

class RankSection final : public RunSection {
 public:
  RankSection(Ranks& ranks, const Network& net, const Config& config)
      : ranks_(ranks), net_(net), live_rows_(config.live_rows()), waited_before_s_(ranks.wait_s()) {
    for (int rank = 0; rank < ranks.size(); ++rank) total_.names.push_back(ranks.NameOf(rank));
    for (const Time& time : kTimes) (total_.*time.seconds).resize(total_.names.size());
  }

  void OnUpdate(const UpdateRecord& record, Json& line) override {
    const std::vector<std::vector<double>> all = Exchange(record);
    // How often per second the ranks together generate the rows of one.
    double generated = 0;
    line["world_size"] = ranks_.size();
    for (std::size_t i = 0; i < kTimes.size(); ++i) {
      std::vector<double> seconds;
      seconds.reserve(all.size());
      for (const auto& numbers : all) seconds.push_back(numbers[kHashParts + i]);
      std::vector<double>& sum = total_.*kTimes[i].seconds;
      std::ranges::transform(sum, seconds, sum.begin(), std::plus());
      const std::string_view key = kTimes[i].key;
      line[fmt::format("ranks_{}_s_min", key)] = RoundedSeconds(std::ranges::min(seconds));
      line[fmt::format("ranks_{}_s_max", key)] = RoundedSeconds(std::ranges::max(seconds));
      line[fmt::format("ranks_{}_slowest", key)] = Slowest(seconds);
      if (kTimes[i].seconds != &RankReport::generate_s) continue;
      for (const double value : seconds) generated += value > 0 ? 1 / value : 0;
    }
    if (record.fill.seconds == 0) return;
    line["generate_examples_per_s"] = RoundedReal(static_cast<double>(live_rows_) * generated);
  }

  void Report(RunSummary& summary) override {
    if (!has_updates_) return;
    Json json = {{"world_size", total_.names.size()}, {"names", total_.names}};
    std::vector<std::string> parts;
    for (const Time& time : kTimes) {
      const std::vector<double>& seconds = total_.*time.seconds;
      const std::string& slowest = total_.names[Slowest(seconds)];
      for (const double value : seconds) {
        json[fmt::format("{}_s", time.key)].push_back(RoundedSeconds(value));
      }
      json[fmt::format("slowest_{}", time.key)] = slowest;
      if (std::ranges::max(seconds) < 1e-3) continue;
      parts.push_back(fmt::format("{} took {:.3g} s to {:.3g} s, longest in {}", time.name,
                                  std::ranges::min(seconds), std::ranges::max(seconds), slowest));
    }
    summary.sections["ranks"] = std::move(json);
    summary.lines.push_back(
        fmt::format("{}: {}", Counted(std::ssize(total_.names), "rank"), fmt::join(parts, "; ")));
    summary.time.ranks = total_;
  }

 private:
  // Returns the hash and the times of all ranks.
  std::vector<std::vector<double>> Exchange(const UpdateRecord& record) {
    const double waited_s = ranks_.wait_s() - waited_before_s_;
    std::vector<double> own = HashOf(net_.State());
    const TrainStats& train = record.train;
    own.insert(own.end(), {record.fill.seconds,
                           std::max(0.0, train.seconds - train.wait_for_batch_s - waited_s),
                           record.wait_for_rows_s, waited_s});
    std::vector<std::vector<double>> all = ranks_.Gather(own);
    std::vector<std::string> differ;
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (std::equal(all[rank].begin(), all[rank].begin() + kHashParts, all[0].begin())) continue;
      differ.push_back(total_.names[rank]);
    }
    if (!differ.empty()) {
      throw Error(fmt::format(
          "after update {}, the weights of {} differ from those of {}. All ranks must run the same "
          "program on the same kind of machine",
          record.update, fmt::join(differ, ", "), total_.names[0]));
    }
    waited_before_s_ = ranks_.wait_s();
    has_updates_ = true;
    return all;
  }

  Ranks& ranks_;
  const Network& net_;
  const std::int64_t live_rows_;  // of an update, in this rank
  RankReport total_;
  bool has_updates_ = false;
  double waited_before_s_;  // Ranks::wait_s when the last update ended
};

Json ToJson(const StageTotals& stage) {
  return {{"bytes", stage.bytes}, {"seconds", stage.seconds}, {"gb_per_s", stage.GbPerSecond()}};
}

class ShardSection final : public RunSection {
 public:
  ShardSection(const ShardLoader& shards, const Config& config)
      : shards_(shards), device_(config.device), began_(shards.position()) {}

  void OnUpdate(const UpdateRecord& record, Json& /*line*/) override {
    train_s_ += record.train.seconds - record.train.wait_s;
  }

  void Report(RunSummary& summary) override {
    const ShardSetSpec& set = shards_.set().spec();
    const std::int64_t rows = shards_.position().rows - began_.rows;
    const double epochs = static_cast<double>(rows) / static_cast<double>(set.examples);
    const StageTotals training = {.bytes = rows * static_cast<std::int64_t>(set.schema.row_bytes()),
                                  .seconds = train_s_};
    summary.sections["data"] = {{"rows", rows},
                                {"epochs", epochs},
                                {"disk", ToJson(shards_.disk())},
                                {"transfer", ToJson(shards_.transfer())},
                                {"training", ToJson(training)}};
    summary.lines.push_back(fmt::format(
        "shards: {:.2f} epochs; at work, disk reads {:.3f} GB/s{}, training {:.3f}", epochs,
        shards_.disk().GbPerSecond(),
        device_ == "cpu" ? "" : fmt::format(", transfer {:.3f}", shards_.transfer().GbPerSecond()),
        training.GbPerSecond()));
  }

 private:
  const ShardLoader& shards_;
  const std::string device_;
  const ShardPosition began_;
  double train_s_ = 0;  // of the updates, without their waits
};

double MeanLag(const StreamUse& use) {
  return use.rows > 0 ? RoundedReal(use.lag_sum / static_cast<double>(use.rows)) : 0;
}

class StreamSection final : public RunSection {
 public:
  StreamSection(StreamLoader& stream, const RunDirectory& directory)
      : stream_(stream), directory_(directory), began_(stream.position()) {}

  void OnUpdate(const UpdateRecord& record, Json& line) override {
    const StreamUse use = stream_.TakeUse();
    Add(use);
    line["stream_rows"] = use.rows;
    line["stream_waiting_shards"] = use.waiting_shards;
    line["stream_dropped_rows"] = use.dropped_rows;
    line["stream_rejected_shards"] = use.rejected_shards;
    if (use.rows > 0) {
      line["stream_lag_min"] = use.lag_min;
      line["stream_lag_mean"] = MeanLag(use);
      line["stream_lag_max"] = use.lag_max;
      line["stream_rows_by_generator"] = use.rows_by_generator;
    }
    std::string ledger;
    for (const DoneShard& shard : stream_.TakeDone()) {
      ledger += DumpJson(Json{{"update", record.update},
                              {"shard", FormatStreamShardName(shard.name)},
                              {"generator", shard.name.generator},
                              {"version", shard.name.version},
                              {"first_row", shard.name.first_row},
                              {"rows", shard.name.rows},
                              {"rows_used", shard.rows_used},
                              {"lag", shard.lag}}) +
                "\n";
    }
    directory_.AppendShards(ledger);
  }

  void Report(RunSummary& summary) override {
    const StreamPosition now = stream_.position();
    const std::int64_t dropped_rows = now.dropped_rows - began_.dropped_rows;
    const std::int64_t dropped_shards = now.dropped_shards - began_.dropped_shards;
    const double seconds = summary.time.wall_s;
    const auto rate = [&](std::int64_t rows) {
      return seconds > 0 ? static_cast<double>(rows) / seconds : 0;
    };
    const auto shown_rate = [&](std::int64_t rows) {
      return WithThousands(static_cast<long long>(rate(rows)));
    };
    summary.sections["stream"] = {{"rows", total_.rows},
                                  {"shards", now.used_shards - began_.used_shards},
                                  {"dropped_rows", dropped_rows},
                                  {"dropped_shards", dropped_shards},
                                  {"rejected_shards", total_.rejected_shards},
                                  {"rows_per_s", RoundedReal(rate(total_.rows))},
                                  {"lag_min", total_.lag_min},
                                  {"lag_mean", MeanLag(total_)},
                                  {"lag_max", total_.lag_max},
                                  {"rows_by_generator", Json(total_.rows_by_generator)}};
    summary.lines.push_back(fmt::format(
        "stream: {} rows of {} ({} rows/s), labelled {} to {} updates before, {:.2g} on average",
        WithThousands(total_.rows), Counted(std::ssize(total_.rows_by_generator), "generator"),
        shown_rate(total_.rows), total_.lag_min, total_.lag_max, MeanLag(total_)));
    std::vector<std::string> generators;
    for (const auto& [generator, rows] : total_.rows_by_generator) {
      generators.push_back(fmt::format("{} {}/s", generator, shown_rate(rows)));
    }
    if (!generators.empty()) {
      summary.lines.push_back(fmt::format("stream: {}", fmt::join(generators, ", ")));
    }
    if (dropped_shards == 0 && total_.rejected_shards == 0) return;
    summary.lines.push_back(
        fmt::format("stream: {} ({} rows) were too old and dropped, {} rejected",
                    Counted(dropped_shards, "shard"), WithThousands(dropped_rows),
                    Counted(total_.rejected_shards, "file")));
  }

 private:
  void Add(const StreamUse& use) {
    if (use.rows > 0) {
      total_.lag_min = total_.rows == 0 ? use.lag_min : std::min(total_.lag_min, use.lag_min);
      total_.lag_max = std::max(total_.lag_max, use.lag_max);
    }
    total_.rows += use.rows;
    total_.lag_sum += use.lag_sum;
    total_.rejected_shards += use.rejected_shards;
    for (const auto& [generator, more] : use.rows_by_generator) {
      total_.rows_by_generator[generator] += more;
    }
  }

  StreamLoader& stream_;
  const RunDirectory& directory_;
  const StreamPosition began_;
  StreamUse total_;
};

}  // namespace

std::unique_ptr<RunSection> MakeRankSection(Ranks& ranks, const Network& net,
                                            const Config& config) {
  return std::make_unique<RankSection>(ranks, net, config);
}

std::unique_ptr<RunSection> MakeShardSection(const ShardLoader& shards, const Config& config) {
  return std::make_unique<ShardSection>(shards, config);
}

std::unique_ptr<RunSection> MakeStreamSection(StreamLoader& stream, const RunDirectory& directory) {
  return std::make_unique<StreamSection>(stream, directory);
}

}  // namespace tandem
