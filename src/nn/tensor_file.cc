#include "nn/tensor_file.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "archive/safetensors.h"
#include "archive/tensor_archive.h"
#include "base/file.h"
#include "base/text.h"
#include "nn/named_tensors.h"
#include "nn/weights_hash.h"
#include "tandem/error.h"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are written with the byte order of memory");

// No network is larger.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 36;

// At most this many times the data of a file may be its size. A hostile file of mostly holes takes
// little disk space, but all memory when it is read. A file system may store zeros as holes, and
// the moments of a new optimizer are zeros.
constexpr std::int64_t kMostBytesPerByteOfData = 16;

// TensorRecords collects the tensors of a file. A tensor that occurs several times, such as the
// network of a checkpoint that is also part of its resume state, is one record.
class TensorRecords {
 public:
  // Returns a copy of `dict` in which placeholders replace the tensors. A placeholder has no
  // memory. It is on the CPU, and has the type and the shape that the pickle needs.
  TensorDict WithPlaceholders(const TensorDict& dict) {
    TensorDict copy = MakeTensorDict();
    for (const auto& entry : dict) {
      const c10::IValue& value = entry.value();
      if (value.isTensor()) {
        copy.insert(entry.key(), PlaceholderOf(value.toTensor()));
      } else if (value.isGenericDict()) {
        copy.insert(entry.key(), WithPlaceholders(value.toGenericDict()));
      } else {
        copy.insert(entry.key(), value);
      }
    }
    return copy;
  }

  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const at::Tensor& tensor : tensors_) bytes += static_cast<std::int64_t>(tensor.nbytes());
    return bytes;
  }

  // Throws if a pickle numbered the placeholders in another order than tensors().
  void CheckOrder(const std::vector<at::Tensor>& pickled) const {
    const auto is_same = [](const at::Tensor& a, const at::Tensor& b) {
      return a.storage().is_alias_of(b.storage());
    };
    if (!std::ranges::equal(pickled, placeholders_, is_same)) {
      throw Error("the pickle of a tensor file has its tensors in an unexpected order");
    }
  }

 private:
  at::Tensor PlaceholderOf(const at::Tensor& tensor) {
    const auto [known, is_new] = numbers_.emplace(KeyOf(tensor), tensors_.size());
    if (is_new) {
      tensors_.push_back(tensor);
      placeholders_.push_back(at::from_blob(nullptr, tensor.sizes(), tensor.scalar_type()));
    }
    return placeholders_[known->second];
  }

  std::map<TensorKey, std::size_t> numbers_;
  std::vector<at::Tensor> tensors_, placeholders_;  // by number
};

std::string PickleOf(const TensorDict& dict, const TensorRecords& records) {
  std::string pickle;
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { pickle.append(data, size); },
      /*tensor_table=*/nullptr, /*type_renamer=*/nullptr, /*memoized_class_types=*/nullptr,
      /*get_tensor_id=*/nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();
  records.CheckOrder(pickler.tensorData());
  return pickle;
}

// Gives the elements of a tensor to `write` and, at the same time, to `hashes`: both take about
// as long. A thread for few bytes would cost more than it saves.
void WriteAndHash(const at::Tensor& tensor, std::string_view bytes,
                  const std::function<void(std::string_view)>& write,
                  std::vector<WeightsHash>& hashes) {
  constexpr std::size_t kFewBytes = std::size_t{1} << 20;
  const auto hash = [&] {
    for (WeightsHash& each : hashes) each.Offer(tensor, bytes);
  };
  // Without a free thread, get() hashes.
  const auto policy =
      bytes.size() < kFewBytes ? std::launch::deferred : std::launch::async | std::launch::deferred;
  std::future<void> hashed = std::async(policy, hash);
  write(bytes);
  hashed.get();
}

// Writes the zip archive that torch.save writes: one record for each tensor, and a pickle. Calls
// `pickle`, which returns the pickle, after the records of the tensors.
void WriteArchive(AtomicFile& out, const TensorRecords& records, HostBytes& host,
                  std::vector<WeightsHash>& hashes, const std::function<std::string()>& pickle) {
  HashedArchive archive([&](std::string_view bytes) { out.Write(bytes); });
  // Do not let the writer see a failure: its destructor would continue to write, and throw again.
  std::exception_ptr failure;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    if (failure) return size;
    try {
      archive.Add({static_cast<const char*>(data), size});
    } catch (...) {
      failure = std::current_exception();
    }
    return size;
  });
  const auto write = [&](const std::string& name, std::string_view content) {
    writer.writeRecord(name, content.data(), content.size());
    if (failure) std::rethrow_exception(failure);
  };
  try {
    std::size_t number = 0;
    for (const at::Tensor& tensor : records.tensors()) {
      const std::string name = fmt::format("data/{}", number++);
      const auto write_record = [&](std::string_view bytes) { write(name, bytes); };
      WriteAndHash(tensor, host.Of(tensor), write_record, hashes);
    }
    write("data.pkl", pickle());
    write("byteorder", "little");
  } catch (...) {
    failure = std::current_exception();
  }
  writer.writeEndOfFile();
  if (failure) std::rethrow_exception(failure);
  archive.Finish();
}

std::vector<std::byte> ContentOf(const std::filesystem::path& path) {
  try {
    const OpenFile file(path);
    const std::int64_t size = file.size();
    if (size > kMostBytes) {
      throw Error(fmt::format("its size is {}, expected at most {}",
                              HumanBytes(static_cast<double>(size)),
                              HumanBytes(static_cast<double>(kMostBytes))));
    }
    if (const std::int64_t data = file.data_bytes(); data < size / kMostBytesPerByteOfData) {
      throw Error(fmt::format(
          "only {} of its {} were written, and the rest are holes; it is damaged or incomplete",
          HumanBytes(static_cast<double>(data)), HumanBytes(static_cast<double>(size))));
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    file.Read(0, bytes);
    return bytes;
  } catch (const Error& error) {
    throw DamagedFile(fmt::format("cannot read {}: {}", path.string(), error.what()));
  }
}

at::ScalarType ScalarTypeOf(StoredType type) {
  constexpr std::array kTypes = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                 at::kInt,    at::kShort, at::kChar, at::kByte};
  return kTypes[static_cast<std::size_t>(type)];
}

// Makes a tensor that has its own copy of the bytes.
at::Tensor ToTensor(const StoredTensor& stored) {
  const auto options = at::TensorOptions().dtype(ScalarTypeOf(stored.type));
  if (stored.bytes.empty()) return at::empty(stored.sizes, options);
  // from_blob takes no const memory.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  void* data = const_cast<std::byte*>(stored.bytes.data());
  return at::from_blob(data, stored.sizes, stored.strides, options)
      .clone(at::MemoryFormat::Contiguous);
}

TensorDict ToTensorDict(const StoredDict& pickled) {
  TensorDict dict = MakeTensorDict();
  for (const StoredEntry& entry : pickled.entries) {
    dict.insert(entry.name, std::visit(
                                [](const auto& value) -> c10::IValue {
                                  using Value = std::decay_t<decltype(value)>;
                                  if constexpr (std::is_same_v<Value, std::monostate>) {
                                    return {};
                                  } else if constexpr (std::is_same_v<Value, StoredTensor>) {
                                    return ToTensor(value);
                                  } else if constexpr (std::is_same_v<Value, StoredDict>) {
                                    return ToTensorDict(value);
                                  } else {
                                    return value;
                                  }
                                },
                                entry.value));
  }
  return dict;
}

StoredType StoredTypeOf(at::ScalarType type) {
  for (const StoredType stored : {StoredType::kFloat64, StoredType::kFloat32, StoredType::kFloat16,
                                  StoredType::kBFloat16, StoredType::kInt64}) {
    if (ScalarTypeOf(stored) == type) return stored;
  }
  throw Error(fmt::format("weights of type {} cannot be written", c10::toString(type)));
}

// torch.save writes a zip archive.
bool IsZip(const std::vector<std::byte>& content) {
  constexpr std::string_view kZip = "PK\x03\x04";
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  return text.starts_with(kZip);
}

// Says what a file that is neither a zip archive nor safetensors is. Empty if it may be
// safetensors, which begin with the size of their header and the header, a JSON object.
std::string_view ForeignWeights(const std::vector<std::byte>& content) {
  constexpr std::string_view kPickle = "\x80\x02";
  constexpr std::size_t kHeader = 8;
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (text.size() <= kHeader || text[kHeader] == '{') return "";
  if (text.starts_with(kPickle)) {
    return "in the format that torch.save wrote before PyTorch 1.6. Read it with torch.load, and "
           "write it again with torch.save.";
  }
  return "not a file of weights; expected a zip archive as torch.save writes it, or safetensors";
}

// Calls `parse` with the contents of a file. Errors become InputError that names the file.
template <class Parse>
TensorDict WithFileErrors(const std::filesystem::path& path, const Parse& parse) {
  const auto fail = [&](std::string_view why) {
    return DamagedFile(fmt::format("{}: damaged tensor file: {}", path.string(), why));
  };
  try {
    return parse(ContentOf(path));
  } catch (const InputError&) {
    throw;
  } catch (const c10::Error& error) {
    throw fail(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    throw InputError(fmt::format("cannot read {}: there is not enough memory", path.string()));
  } catch (const std::exception& error) {
    throw fail(error.what());
  }
}

}  // namespace

TensorDict MakeTensorDict() { return TensorDict(c10::StringType::get(), c10::AnyType::get()); }

TensorDict ToTensorDict(const StateDict& state) {
  TensorDict dict = MakeTensorDict();
  for (const auto& [name, tensor] : state) dict.insert(name, tensor.detach());
  return dict;
}

void WriteTensorFile(const std::filesystem::path& path, const TensorDict& dict,
                     const std::vector<StateDict>& hashed, const CompleteEntries& complete) {
  TensorRecords records;
  TensorDict pickled = records.WithPlaceholders(dict);
  RequireSpace(path, records.bytes());
  AtomicFile file(path);
  HostBytes host;
  std::vector<WeightsHash> hashes(hashed.begin(), hashed.end());
  WriteArchive(file, records, host, hashes, [&] {
    std::vector<std::string> sha256;
    sha256.reserve(hashes.size());
    for (WeightsHash& hash : hashes) sha256.push_back(hash.Finish(host));
    if (complete) complete(pickled, sha256);
    return PickleOf(pickled, records);
  });
  file.Commit();
}

void WriteSafetensors(const std::filesystem::path& path, const StateDict& state,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : state) {
    entries.push_back(
        {.name = name, .type = StoredTypeOf(tensor.scalar_type()), .sizes = tensor.sizes().vec()});
  }
  AtomicFile file(path);
  file.Write(SafetensorsHeader(entries, metadata));
  HostBytes host;
  for (const auto& [name, tensor] : state) file.Write(host.Of(tensor));
  file.Commit();
}

TensorDict ReadTensorFile(const std::filesystem::path& path) {
  return WithFileErrors(path, [&](const std::vector<std::byte>& content) {
    if (!IsZip(content)) {
      throw DamagedFile(fmt::format(
          "{}: not a tensor file; expected a zip archive as torch.save writes it", path.string()));
    }
    return ToTensorDict(ReadTensorArchive(content));
  });
}

TensorDict ReadWeights(const std::filesystem::path& path) {
  return WithFileErrors(path, [&](const std::vector<std::byte>& content) {
    if (IsZip(content)) return ToTensorDict(ReadTensorArchive(content));
    if (const std::string_view what = ForeignWeights(content); !what.empty()) {
      throw DamagedFile(fmt::format("{}: {}", path.string(), what));
    }
    return ToTensorDict(ReadSafetensors(content).tensors);
  });
}

namespace {

// Throws InputError that begins with `name` if the tensors of `from` are not those of `into`.
void CheckNames(const TensorDict& from, const StateDict& into, const std::string& name) {
  std::set<std::string> known;
  std::vector<std::string> missing;
  std::vector<std::string> unknown;
  for (const auto& [key, tensor] : into) {
    known.insert(key);
    const auto found = from.find(key);
    if (found == from.end() || !found->value().isTensor()) missing.push_back(key);
  }
  for (const auto& entry : from) {
    const std::string key = entry.key().isString() ? entry.key().toStringRef() : "?";
    if (!known.contains(key)) unknown.push_back(key);
  }
  if (missing.empty() && unknown.empty()) return;
  throw InputError(fmt::format(
      "{}: the names of its tensors are not those of the network; missing: {}; not expected: {}",
      name, SomeOf(missing), SomeOf(unknown)));
}

}  // namespace

void LoadStateDict(const TensorDict& from, const StateDict& into, const std::string& name) {
  const c10::NoGradGuard no_grad;
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("{}: {}", name, what));
  };
  CheckNames(from, into, name);
  for (const auto& [key, tensor] : into) {
    const at::Tensor& source = from.at(key).toTensor();
    const bool has_type = tensor.is_floating_point() ? source.is_floating_point()
                                                     : source.scalar_type() == tensor.scalar_type();
    if (source.sizes() != tensor.sizes() || !has_type) {
      fail(fmt::format("tensor '{}' is {} of shape {}, expected {} of shape {}", key,
                       DtypeText(source), ShapeText(source), DtypeText(tensor), ShapeText(tensor)));
    }
    // A finite number in fp64 may be infinite in fp32.
    const at::Tensor values = source.to(tensor.scalar_type());
    if (!values.isfinite().all().item<bool>()) {
      fail(fmt::format("tensor '{}' contains values that are not finite", key));
    }
    tensor.copy_(values);
  }
}

std::string WeightsSha256(const StateDict& state) {
  HostBytes host;
  return WeightsHash(state).Finish(host);
}

}  // namespace tandem
