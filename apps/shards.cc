// tandem shards DIR
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "data/shard_set.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ShardsArgs {
  std::string folder;
  bool list = false;  // do not read the chunks
  bool json = false;
};

// The state of one shard.
struct Finding {
  const ShardSet::Shard* shard;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t bytes = 0;             // stored size of the chunks
  std::vector<std::string> problems;  // each names file and chunk
};

Finding Inspect(const ShardSet& set, const ShardSet::Shard& shard, bool verify,
                std::vector<std::byte>& memory) {
  const ShardSetSpec& spec = set.spec();
  Finding finding{.shard = &shard, .first_row = shard.number * spec.rows_per_shard()};
  if (!shard.header) {
    finding.problems.push_back(shard.problem);
  } else if (std::cmp_greater(fs::file_size(shard.path), shard.header->file_bytes())) {
    finding.problems.push_back(
        fmt::format("{}: the file has data after its last chunk", shard.path.string()));
  }
  for (std::int64_t c = spec.FirstChunk(shard.number); c < spec.EndChunk(shard.number); ++c) {
    finding.rows += spec.RowsOfChunk(c);
    finding.bytes += set.StoredBytes(c);
    if (!verify || !shard.header) continue;
    try {
      set.Read(c, memory);
    } catch (const DamagedShard& damage) {
      finding.problems.emplace_back(damage.what());
    }
  }
  return finding;
}

Json ToJson(const ShardSetSpec& spec) {
  return {{"domain", spec.domain},
          {"target", spec.target},
          {"columns", DescribeSchema(spec.schema)},
          {"provenance", spec.provenance},
          {"examples", spec.examples},
          {"chunk_rows", spec.chunk_rows},
          {"compression", NameOf(spec.compression)},
          {"set", spec.Identity()}};
}

Json ToJson(const Finding& finding) {
  return {{"file", finding.shard->path.filename().string()},
          {"first_row", finding.first_row},
          {"rows", finding.rows},
          {"bytes", finding.bytes},
          {"problems", finding.problems}};
}

void PrintSet(const ShardSet& set) {
  const ShardSetSpec& spec = set.spec();
  fmt::print("{}: {} examples of {}, target {}\n", set.folder().string(),
             WithThousands(spec.examples), Printable(spec.domain), Printable(spec.target));
  fmt::print("  columns   {}\n", Printable(DescribeSchema(spec.schema)));
  std::string provenance;
  for (const auto& [key, value] : spec.provenance) {
    provenance += fmt::format("  {}: {}", key, value);
  }
  fmt::print("  made by {}\n", Printable(provenance));
  fmt::print("  chunks    of {} rows, compression {}\n\n", WithThousands(spec.chunk_rows),
             NameOf(spec.compression));
}

void PrintFinding(const Finding& finding, bool verified) {
  const char* state = finding.shard->missing      ? "missing"
                      : !finding.problems.empty() ? "damaged"
                      : verified                  ? "whole"
                                                  : "not verified";
  const std::string rows = fmt::format("rows {} to {}", WithThousands(finding.first_row),
                                       WithThousands(finding.first_row + finding.rows - 1));
  fmt::print("{}  {:<32}{:>10}  {}\n", finding.shard->path.filename().string(), rows,
             HumanBytes(static_cast<double>(finding.bytes)), state);
  for (const std::string& problem : finding.problems) {
    if (!finding.shard->missing) fmt::print("  {}\n", Printable(problem));
  }
}

void PrintStrays(const ShardSet& set) {
  const std::int64_t num_shards = set.spec().num_shards();
  for (const fs::path& stray : StrayFiles(set.folder(), num_shards)) {
    fmt::print("{}\n", DescribeStray(stray, num_shards));
  }
}

void PrintEnd(const std::vector<Finding>& all, bool verified, double seconds) {
  std::int64_t bytes = 0;
  std::int64_t missing = 0;
  std::int64_t damaged = 0;
  for (const Finding& finding : all) {
    bytes += finding.bytes;
    (finding.shard->missing ? missing : damaged) += finding.problems.empty() ? 0 : 1;
  }
  fmt::print("\n{} of {} missing, {} damaged; {}", missing, Counted(std::ssize(all), "shard"),
             damaged, HumanBytes(static_cast<double>(bytes)));
  if (verified) {
    fmt::print(" verified in {} ({:.2f} GB/s)", HumanSeconds(seconds),
               static_cast<double>(bytes) / seconds * 1e-9);
  }
  fmt::print("\n");
  if (missing + damaged > 0) {
    fmt::print(
        "`tandem generate` with the same arguments writes missing and truncated shards again. "
        "Remove altered shards first.\n");
  }
}

int RunShards(const ShardsArgs& args) {
  const ShardSet set(args.folder);
  const bool verify = !args.list;
  const Stopwatch watch;
  std::vector<std::byte> memory(set.spec().BytesOfChunk(0));
  std::vector<Finding> all;
  bool whole = true;
  if (!args.json) PrintSet(set);
  for (const ShardSet::Shard& shard : set.shards()) {
    all.push_back(Inspect(set, shard, verify, memory));
    whole = whole && all.back().problems.empty();
    if (!args.json) PrintFinding(all.back(), verify);
  }
  if (args.json) {
    Json json = ToJson(set.spec());
    json["verified"] = verify;
    for (const Finding& finding : all) json["shards"].push_back(ToJson(finding));
    json["strays"] = Json::array();
    for (const fs::path& stray : StrayFiles(set.folder(), set.spec().num_shards())) {
      json["strays"].push_back(stray.filename().string());
    }
    fmt::print("{}\n", DumpJson(json, 2));
  } else {
    PrintStrays(set);
    PrintEnd(all, verify, watch.Seconds());
  }
  return whole ? kDone : kFailed;
}

}  // namespace

void AddShards(CommandLine& line) {
  const auto [shards, args] =
      AddCommand(line, "shards", "List the shards in a folder and verify them", RunShards);
  AddOption(shards, "folder", args.folder, "DIR", "Folder that `tandem generate` wrote")
      ->required();
  shards.add_flag("--list", args.list, "List the shards without reading their chunks");
  shards.add_flag("--json", args.json, "Print JSON");
  shards.footer(
      "Exit codes: 0 the set is complete; 1 some of it is missing or damaged;\n"
      "2 wrong usage or input.");
}

}  // namespace tandem
