#include "nn/tensor_file.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <array>
#include <bit>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <set>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "archive/safetensors.h"
#include "archive/tensor_archive.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/text.h"
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

std::string ShapeText(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
}

std::string DtypeText(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return "float32";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    default:
      return c10::toString(tensor.scalar_type());
  }
}

// Writes the zip archive that torch.save writes: a pickle, and one record for each tensor's
// storage.
void WriteArchive(AtomicFile& out, const TensorDict& dict) {
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
  std::string pickle;
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { pickle.append(data, size); },
      /*tensor_table=*/nullptr, /*type_renamer=*/nullptr, /*memoized_class_types=*/nullptr,
      /*get_tensor_id=*/nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();

  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  const std::string byte_order = "little";
  writer.writeRecord("byteorder", byte_order.data(), byte_order.size());
  std::size_t number = 0;
  for (const at::Tensor& tensor : pickler.tensorData()) {
    const torch::jit::WriteableTensorData data = torch::jit::getWriteableTensorData(tensor);
    writer.writeRecord(fmt::format("data/{}", number++), data.data(), data.sizeInBytes());
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

// The bytes of all tensors in a dictionary. The rest of its file is small.
std::int64_t BytesOf(const TensorDict& dict) {
  std::int64_t bytes = 0;
  for (const auto& entry : dict) {
    const c10::IValue& value = entry.value();
    if (value.isTensor()) bytes += static_cast<std::int64_t>(value.toTensor().nbytes());
    if (value.isGenericDict()) bytes += BytesOf(value.toGenericDict());
  }
  return bytes;
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

TensorDict ToTensorDict(const PickledDict& pickled) {
  TensorDict dict = MakeTensorDict();
  for (const PickledEntry& entry : pickled.entries) {
    dict.insert(entry.name, std::visit(
                                [](const auto& value) -> c10::IValue {
                                  using Value = std::decay_t<decltype(value)>;
                                  if constexpr (std::is_same_v<Value, std::monostate>) {
                                    return {};
                                  } else if constexpr (std::is_same_v<Value, StoredTensor>) {
                                    return ToTensor(value);
                                  } else if constexpr (std::is_same_v<Value, PickledDict>) {
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
  for (const auto& [name, tensor] : state) {
    // A file holds the whole storage of each tensor, so one that shares it with others is copied.
    const at::Tensor own = tensor.detach().cpu();
    const bool shares = own.storage().nbytes() != own.nbytes();
    dict.insert(name, shares ? own.clone(at::MemoryFormat::Contiguous) : own);
  }
  return dict;
}

StateDict CloneOf(const StateDict& state) {
  StateDict clone;
  for (const auto& [name, tensor] : state) clone.emplace_back(name, tensor.detach().clone());
  return clone;
}

void WriteTensorFile(const std::filesystem::path& path, const TensorDict& dict) {
  RequireSpace(path, BytesOf(dict));
  AtomicFile file(path);
  WriteArchive(file, dict);
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
  for (const auto& [name, tensor] : state) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    file.Write({static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()});
  }
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
  return WithFileErrors(path, [](const std::vector<std::byte>& content) {
    return ToTensorDict(IsZip(content) ? ReadTensorArchive(content)
                                       : ReadSafetensors(content).tensors);
  });
}

void LoadStateDict(const TensorDict& from, const StateDict& into, const std::string& name) {
  const c10::NoGradGuard no_grad;
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("{}: {}", name, what));
  };
  std::set<std::string> known;
  for (const auto& [key, tensor] : into) {
    known.insert(key);
    const auto found = from.find(key);
    if (found == from.end() || !found->value().isTensor()) {
      fail(fmt::format("tensor '{}' of shape {} is missing", key, ShapeText(tensor)));
    }
    const at::Tensor& source = found->value().toTensor();
    if (source.sizes() != tensor.sizes() || !source.is_floating_point()) {
      fail(fmt::format("tensor '{}' is {} of shape {}, expected {} of shape {}", key,
                       DtypeText(source), ShapeText(source), DtypeText(tensor), ShapeText(tensor)));
    }
    if (!source.isfinite().all().item<bool>()) {
      fail(fmt::format("tensor '{}' contains values that are not finite", key));
    }
    tensor.copy_(source);
  }
  for (const auto& entry : from) {
    const std::string key = entry.key().isString() ? entry.key().toStringRef() : "?";
    if (!known.contains(key)) fail(fmt::format("unknown tensor '{}'", key));
  }
}

std::string WeightsSha256(const StateDict& state) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  for (const auto& [name, tensor] : state) {
    for (const std::string& text : {name, DtypeText(tensor), ShapeText(tensor)}) {
      EVP_DigestUpdate(context.get(), text.c_str(), text.size() + 1);
    }
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    EVP_DigestUpdate(context.get(), bytes.const_data_ptr(), bytes.nbytes());
  }
  std::vector<unsigned char> digest(EVP_MAX_MD_SIZE);
  unsigned int size = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  digest.resize(size);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace tandem
