#include "nn/tensor_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/safetensors.h"
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

// Sha256 computes WeightsSha256 of tensors that are added in their order.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
      throw Error("cannot compute the SHA-256 of weights: OpenSSL cannot start the hash");
    }
  }

  // Adds a tensor whose elements are `bytes`. Calls no operator of LibTorch, so it needs no stream.
  void Add(const std::string& name, const at::Tensor& tensor, std::string_view bytes) {
    for (const std::string& text : {name, DtypeText(tensor), ShapeText(tensor)}) {
      EVP_DigestUpdate(context_.get(), text.c_str(), text.size() + 1);
    }
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }

  // Returns the hash. Call once.
  std::string Hex() {
    std::vector<unsigned char> digest(EVP_MAX_MD_SIZE);
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    digest.resize(size);
    return fmt::format("{:02x}", fmt::join(digest, ""));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// Calls `write` and, at the same time, `hash`: for `bytes` bytes, both take about as long. A thread
// for few bytes would cost more than it saves.
template <class Write, class HashBytes>
void WriteAndHash(std::size_t bytes, const Write& write, const HashBytes& hash) {
  constexpr std::size_t kFewBytes = std::size_t{1} << 20;
  // Without a free thread, get() hashes.
  const auto policy =
      bytes < kFewBytes ? std::launch::deferred : std::launch::async | std::launch::deferred;
  std::future<void> hashed = std::async(policy, hash);
  write();
  hashed.get();
}

// The types, in the order of StoredType.
constexpr std::array kTypes = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                               at::kInt,    at::kShort, at::kChar, at::kByte};

TensorEntry EntryOf(const std::string& name, const at::Tensor& tensor) {
  const auto* const type = std::ranges::find(kTypes, tensor.scalar_type());
  if (type == kTypes.end()) {
    throw Error(fmt::format("tensors of type {} cannot be written", DtypeText(tensor)));
  }
  return {.name = name,
          .type = static_cast<StoredType>(type - kTypes.begin()),
          .sizes = tensor.sizes().vec()};
}

using Bytes = std::vector<std::byte>;

std::shared_ptr<Bytes> ContentOf(const std::filesystem::path& path) {
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
    auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(size));
    file.Read(0, *bytes);
    return bytes;
  } catch (const Error& error) {
    throw DamagedFile(fmt::format("cannot read {}: {}", path.string(), error.what()));
  }
}

// Throws DamagedFile if the content is not that of a safetensors file, which begins with the size
// of its header and the header, a JSON object.
void CheckFormat(const std::filesystem::path& path, const Bytes& content) {
  constexpr std::size_t kHeader = 8;
  if (content.size() > kHeader && content[kHeader] == std::byte{'{'}) return;
  throw DamagedFile(
      fmt::format("{}: not a safetensors file; `python -m tandem.convert import` reads files of "
                  "PyTorch and DeepXube",
                  path.string()));
}

// Returns a tensor that shares the memory of the file's content, and keeps it.
at::Tensor TensorIn(const std::shared_ptr<Bytes>& content, const StoredTensor& stored) {
  // from_blob takes no const memory.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  void* data = const_cast<std::byte*>(stored.bytes.data());
  return at::from_blob(
      data, stored.sizes, [content](void*) {}, kTypes[static_cast<std::size_t>(stored.type)]);
}

// Lists names for a message: "none", or the first few of them and how many there are more.
std::string SomeOf(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  if (names.empty()) return "none";
  const std::size_t listed = std::min(names.size(), kMost);
  const std::string list = fmt::format("{}", fmt::join(std::span(names).first(listed), ", "));
  return listed == names.size() ? list : fmt::format("{} and {} more", list, names.size() - listed);
}

// Throws InputError that begins with `name` if the tensors of `from` are not those of `into`.
void CheckNames(const TensorMap& from, const StateDict& into, const std::string& name) {
  std::set<std::string> known;
  std::vector<std::string> missing;
  std::vector<std::string> unknown;
  for (const auto& [key, tensor] : into) {
    known.insert(key);
    if (!from.contains(key)) missing.push_back(key);
  }
  for (const auto& [key, tensor] : from) {
    if (!known.contains(key)) unknown.push_back(key);
  }
  if (missing.empty() && unknown.empty()) return;
  throw InputError(fmt::format(
      "{}: the names of its tensors are not those of the network; missing: {}; not expected: {}",
      name, SomeOf(missing), SomeOf(unknown)));
}

}  // namespace

std::string WriteTensorFile(const std::filesystem::path& path, const StateDict& weights,
                            const StateDict& others, const Metadata& metadata) {
  StateDict tensors = weights;
  tensors.insert(tensors.end(), others.begin(), others.end());
  // Each tensor must be aligned to its elements.
  std::ranges::stable_sort(tensors, std::greater<>(),
                           [](const auto& entry) { return entry.second.element_size(); });
  std::vector<TensorEntry> entries;
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    entries.push_back(EntryOf(name, tensor));
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  std::string file_hash = kNoFileHash;
  std::string sha256 = WeightsSha256({});
  const auto header = [&] {
    std::vector<std::pair<std::string, std::string>> texts = {{std::string(kFileHash), file_hash},
                                                              {kWeightsSha256, sha256}};
    texts.insert(texts.end(), metadata.begin(), metadata.end());
    return SafetensorsHeader(entries, texts);
  };

  RequireSpace(path, bytes);
  AtomicFile file(path);
  file.Write(header());  // the hashes replace others of the same length later
  HostBytes host;
  Hash contents;
  Sha256 hash;
  std::size_t hashed = 0;  // tensors of `weights`
  for (const auto& [name, tensor] : tensors) {
    const std::string_view elements = host.Of(tensor);
    const bool is_next = hashed < weights.size() && weights[hashed].first == name;
    const auto write = [&] {
      file.Write(elements);
      contents.Add(elements);
    };
    if (is_next) {
      WriteAndHash(elements.size(), write, [&] { hash.Add(name, tensor, elements); });
      ++hashed;
    } else {
      write();
    }
  }
  for (; hashed < weights.size(); ++hashed) {
    const auto& [name, tensor] = weights[hashed];
    hash.Add(name, tensor, host.Of(tensor));
  }
  sha256 = hash.Hex();
  contents.Add(header());
  file_hash = contents.Hex();
  file.Overwrite(0, header());
  file.Commit();
  return sha256;
}

TensorFile ReadTensorFile(const std::filesystem::path& path) {
  const auto damaged = [&](std::string_view why) {
    return DamagedFile(fmt::format("{}: damaged tensor file: {}", path.string(), why));
  };
  try {
    const std::shared_ptr<Bytes> content = ContentOf(path);
    CheckFormat(path, *content);
    Safetensors read = ReadSafetensors(*content);
    TensorFile file{.tensors = {}, .metadata = std::move(read.metadata)};
    for (const StoredTensor& stored : read.tensors) {
      file.tensors.emplace(stored.name, TensorIn(content, stored));
    }
    return file;
  } catch (const InputError&) {
    throw;
  } catch (const c10::Error& error) {
    throw damaged(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    throw InputError(fmt::format("cannot read {}: there is not enough memory", path.string()));
  } catch (const std::exception& error) {
    throw damaged(error.what());
  }
}

void LoadStateDict(const TensorMap& from, const StateDict& into, const std::string& name) {
  const c10::NoGradGuard no_grad;
  CheckNames(from, into, name);
  for (const auto& [key, tensor] : into) {
    const at::Tensor& source = from.at(key);
    const bool has_type = tensor.is_floating_point() ? source.is_floating_point()
                                                     : source.scalar_type() == tensor.scalar_type();
    if (source.sizes() != tensor.sizes() || !has_type) {
      throw InputError(fmt::format("{}: tensor '{}' is {} of shape {}, expected {} of shape {}",
                                   name, key, DtypeText(source), ShapeText(source),
                                   DtypeText(tensor), ShapeText(tensor)));
    }
    // A finite number in fp64 may be infinite in fp32.
    const at::Tensor values = source.to(tensor.scalar_type());
    if (!values.isfinite().all().item<bool>()) {
      throw InputError(
          fmt::format("{}: tensor '{}' contains values that are not finite", name, key));
    }
    tensor.copy_(values);
  }
}

std::string WeightsSha256(const StateDict& state) {
  HostBytes host;
  Sha256 hash;
  for (const auto& [name, tensor] : state) hash.Add(name, tensor, host.Of(tensor));
  return hash.Hex();
}

std::string_view HostBytes::Of(const at::Tensor& tensor) {
  const bool in_place = tensor.is_cpu() && tensor.is_contiguous();
  const at::Tensor elements = in_place ? tensor : CopyOf(tensor.detach());
  return {static_cast<const char*>(elements.const_data_ptr()), elements.nbytes()};
}

at::Tensor HostBytes::CopyOf(const at::Tensor& tensor) {
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  if (!buffer_.defined() || buffer_.numel() < bytes) buffer_ = at::empty({bytes}, at::kByte);
  at::Tensor copy = buffer_.narrow(0, 0, bytes).view(tensor.scalar_type()).view(tensor.sizes());
  return copy.copy_(tensor);
}

at::Tensor SumsOfBits(const StateDict& state) {
  std::vector<at::Tensor> sums;
  sums.reserve(2 * state.size());
  for (const auto& [name, tensor] : state) {
    const at::Tensor bits = tensor.detach().reshape({-1}).view(at::kInt);
    at::Tensor places = at::arange(1, bits.numel() + 1, bits.options().dtype(at::kLong));
    sums.push_back(bits.sum());  // int64
    sums.push_back(places.mul_(bits).sum());
  }
  return at::stack(sums);
}

}  // namespace tandem
