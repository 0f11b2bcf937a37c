#include "nn/tensor_file.h"

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <bit>
#include <fstream>
#include <memory>
#include <vector>

#include "base/file.h"
#include "tandem/error.h"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie");

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

// The zip archive of torch.save: a pickle, and one record for each tensor's storage.
void WriteArchive(std::ostream& out, const TensorDict& dict) {
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    return out ? size : 0;
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
}

}  // namespace

TensorDict MakeTensorDict() { return TensorDict(c10::StringType::get(), c10::AnyType::get()); }

TensorDict ToTensorDict(const StateDict& state) {
  TensorDict dict = MakeTensorDict();
  for (const auto& [name, tensor] : state) dict.insert(name, tensor.detach().cpu());
  return dict;
}

void WriteTensorFile(const std::filesystem::path& path, const TensorDict& dict) {
  WriteFileAtomically(path, [&](const std::filesystem::path& aside) {
    std::ofstream out(aside, std::ios::binary);
    if (out) WriteArchive(out, dict);
    out.close();
    if (!out) throw Error(fmt::format("cannot write {}", path.string()));
  });
}

TensorDict ReadTensorFile(const std::filesystem::path& path) {
  const std::string content = ReadFile(path);
  try {
    return torch::jit::pickle_load({content.begin(), content.end()}).toGenericDict();
  } catch (const c10::Error& error) {
    throw InputError(
        fmt::format("{} is no file of tensors: {}", path.string(), error.what_without_backtrace()));
  }
}

void LoadStateDict(const TensorDict& from, torch::nn::Module& module, const std::string& name) {
  const c10::NoGradGuard no_grad;
  const StateDict state = StateDictOf(module);
  for (const auto& [key, tensor] : state) {
    const auto found = from.find(key);
    if (found == from.end() || !found->value().isTensor()) {
      throw InputError(fmt::format("{}: no tensor '{}' of shape {}", name, key, ShapeText(tensor)));
    }
    const at::Tensor& source = found->value().toTensor();
    if (source.sizes() != tensor.sizes()) {
      throw InputError(fmt::format("{}: tensor '{}' has shape {}, expected {}", name, key,
                                   ShapeText(source), ShapeText(tensor)));
    }
    tensor.copy_(source);
  }
  if (from.size() != state.size()) {
    throw InputError(fmt::format("{}: {} tensors, expected {}", name, from.size(), state.size()));
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
