// Examples on disk as Python sees them.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.h"
#include "base/file.h"
#include "bindings.h"
#include "data/data_buffer.h"
#include "data/examples.h"
#include "data/shard_file.h"
#include "data/shard_set.h"
#include "domain.h"
#include "tandem/error.h"

namespace tandem::python {
namespace {

namespace fs = std::filesystem;

Head ParseHead(const std::string& name) {
  for (const auto& choice : kHeads) {
    if (choice.name == name) return choice.value;
  }
  throw InputError(fmt::format("head: expected v, q, q_in, policy or vp, found {}", name));
}

// An array of examples, whose rows are a column of a set.
using Array2 = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu, nb::ndim<2>>;

std::span<const std::byte> BytesOf(const Array2& array) {
  return {static_cast<const std::byte*>(array.data()), array.nbytes()};
}

// Throws InputError if the array has another type or shape than `rows` rows of the column.
void CheckColumn(const Array2& array, const Column& column, std::size_t rows) {
  const bool type_fits = column.type == ElementType::kUint8
                             ? array.dtype() == nb::dtype<std::uint8_t>()
                             : array.dtype() == nb::dtype<float>();
  if (type_fits && array.shape(0) == rows && array.shape(1) == column.width) return;
  throw InputError(fmt::format("`{}s` has {} rows of {} numbers, expected {} rows of {} of {}",
                               column.name, array.shape(0), array.shape(1), rows, column.width,
                               NameOf(column.type)));
}

void CheckSize(std::string_view name, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw InputError(fmt::format("{}: expected 1 to {}, found {}", name, most, value));
}

/// NewSet is a set of shards to write from arrays: a column each, whose values fit the puzzle.
class NewSet {
 public:
  NewSet(const DomainSpec& domain, std::vector<Array2> columns, Head head, ShardSetSpec sizes)
      : columns_(std::move(columns)), spec_(std::move(sizes)) {
    const bool weighted = columns_.size() > kWeightColumn;
    if (weighted && HasPolicy(head)) {
      throw InputError(
          fmt::format("weights: labels for head {} cannot have any", NameOf(kHeads, head)));
    }
    spec_.domain = domain.identity();
    spec_.target = "given";
    spec_.schema = ExampleSchema(domain, head, weighted);
    spec_.examples = static_cast<std::int64_t>(columns_[kInputColumn].shape(0));
    spec_.provenance["network.head"] = NameOf(kHeads, head);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = spec_.schema.columns[i];
      CheckColumn(columns_[i], column, static_cast<std::size_t>(spec_.examples));
      spec_.provenance["hash of " + column.name] = ChunkHash(BytesOf(columns_[i]));
    }
    if (spec_.examples == 0) throw InputError("`inputs` has no rows, expected at least one");
    if (const auto limit = FindExceededLimit(spec_)) throw InputError(limit->text);
  }

  // Throws InputError if the folder is in use. Leaves nothing behind if writing fails.
  void Write(const fs::path& folder) const {
    const bool created = MakeEmptyFolder(folder);
    std::int64_t shard = 0;
    try {
      for (; shard < spec_.num_shards(); ++shard) {
        ShardWriter writer(ShardPath(folder, shard), spec_, shard);
        for (auto chunk = spec_.FirstChunk(shard); chunk < spec_.EndChunk(shard); ++chunk) {
          writer.Add(Chunk(chunk));
        }
        writer.Commit();
      }
    } catch (...) {
      std::error_code ignored;
      while (shard-- > 0) fs::remove(ShardPath(folder, shard), ignored);
      if (created) fs::remove(folder, ignored);
      throw;
    }
  }

 private:
  DataBuffer Chunk(std::int64_t chunk) const {
    const auto first = static_cast<std::size_t>(chunk * spec_.chunk_rows);
    DataBuffer rows(spec_.schema, static_cast<std::size_t>(spec_.RowsOfChunk(chunk)));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t row_bytes = spec_.schema.columns[i].row_bytes();
      std::memcpy(rows.column(i).bytes().data(), BytesOf(columns_[i]).data() + first * row_bytes,
                  rows.rows() * row_bytes);
    }
    return rows;
  }

  std::vector<Array2> columns_;
  ShardSetSpec spec_;
};

void WriteShards(const fs::path& folder, const Puzzle& puzzle, const Array2& inputs,
                 const Array2& targets, const std::optional<Array2>& weights,
                 const std::string& head, std::int64_t chunk_rows, std::int64_t chunks_per_shard,
                 bool compress) {
  CheckSize("chunk_rows", chunk_rows, kMaxChunkRows);
  CheckSize("chunks_per_shard", chunks_per_shard, kMaxShardChunks);
  std::vector<Array2> columns = {inputs, targets};
  if (weights) columns.push_back(*weights);
  ShardSetSpec sizes{.domain = {},
                     .target = {},
                     .schema = {},
                     .provenance = {},
                     .chunk_rows = chunk_rows,
                     .chunks_per_shard = chunks_per_shard,
                     .compression = compress ? Compression::kZstd : Compression::kNone};
  const NewSet set(puzzle.spec(), std::move(columns), ParseHead(head), std::move(sizes));
  const nb::gil_scoped_release release;
  set.Write(folder);
}

/// ShardReader reads the chunks of a complete set.
class ShardReader {
 public:
  explicit ShardReader(const fs::path& folder) : set_(folder) { set_.CheckComplete(); }

  std::int64_t num_chunks() const { return set_.spec().num_chunks(); }

  // The columns of a chunk, each an array that owns its memory.
  nb::list Chunk(std::int64_t chunk) const {
    const auto rows = static_cast<std::size_t>(set_.spec().RowsOfChunk(chunk));
    const Schema& schema = set_.spec().schema;
    std::vector<std::byte> bytes(set_.spec().BytesOfChunk(chunk));
    {
      const nb::gil_scoped_release release;
      set_.Read(chunk, bytes);
    }
    nb::list columns;
    for (std::size_t i = 0; i < schema.columns.size(); ++i) {
      const Column& column = schema.columns[i];
      const std::byte* from = bytes.data() + DataBuffer::OffsetOf(i, schema, rows);
      columns.append(column.type == ElementType::kUint8 ? Copy<std::uint8_t>(from, rows, column)
                                                        : Copy<float>(from, rows, column));
    }
    return columns;
  }

 private:
  template <class T>
  static nb::object Copy(const std::byte* from, std::size_t rows, const Column& column) {
    auto array = NewArray<T>({rows, column.width});
    std::memcpy(array.data(), from, rows * column.row_bytes());
    return nb::cast(array);
  }

  const ShardSet set_;
};

}  // namespace

void BindShards(nb::module_& module) {
  nb::class_<ShardReader>(module, "ShardReader")
      .def(nb::init<const fs::path&>(), nb::arg("folder"))
      .def_prop_ro("num_chunks", &ShardReader::num_chunks, "The number of chunks.")
      .def("chunk", &ShardReader::Chunk, nb::arg("chunk"),
           "Reads and verifies a chunk, and returns its columns.");
  module.def(
      "write_shards", &WriteShards, nb::arg("folder"), nb::arg("domain"), nb::arg("inputs"),
      nb::arg("targets"), nb::arg("weights").none(), nb::arg("head"), nb::arg("chunk_rows"),
      nb::arg("chunks_per_shard"), nb::arg("compress"),
      nb::sig("def write_shards(folder: str | os.PathLike, domain: Domain, inputs: numpy.ndarray, "
              "targets: numpy.ndarray, weights: numpy.ndarray | None, head: str, chunk_rows: int, "
              "chunks_per_shard: int, compress: bool) -> None"),
      "Writes arrays as a set of shards; `tandem.write_shards` calls it.");
}

}  // namespace tandem::python
