#include "nn/tensor_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/safetensors.h"
#include "nn/resnet_fc.h"
#include "support/small_spec.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Changes the lowest bit of an element.
void FlipLowestBit(float& element) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &element, sizeof bits);
  bits ^= 1U;
  std::memcpy(&element, &bits, sizeof bits);
}

TensorMap MapOf(const StateDict& state) { return {state.begin(), state.end()}; }

class TensorFileTest : public testing::Test {
 protected:
  static std::string ErrorOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  const TempFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "net.safetensors";
};

TEST_F(TensorFileTest, WriteAndReadGiveTheSameWeights) {
  const ResNetFC net(SmallSpec(Norm::kBatch), 1);
  const std::string sha256 = WriteTensorFile(path_, net.State(), {}, {{"domain", "cube3"}});
  ResNetFC other(SmallSpec(Norm::kBatch), 2);
  const TensorFile read = ReadTensorFile(path_);
  LoadStateDict(read.tensors, other.State(), "net.safetensors");
  EXPECT_EQ(sha256, WeightsSha256(net.State()));
  EXPECT_EQ(read.metadata.at(kWeightsSha256), sha256);
  EXPECT_EQ(read.metadata.at("domain"), "cube3");
  EXPECT_EQ(WeightsSha256(other.State()), WeightsSha256(net.State()));
}

TEST_F(TensorFileTest, ErrorNamesTheTensorThatDoesNotFit) {
  const TensorMap small = MapOf(ResNetFC(SmallSpec(Norm::kNone), 1).State());
  NetworkSpec wider = SmallSpec(Norm::kNone);
  wider.layers.width = 9;
  ResNetFC wide(wider, 1), normed(SmallSpec(Norm::kBatch), 1);
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(small, wide.State(), "net.safetensors"); }),
            "net.safetensors: tensor 'hidden1.weight' is float32 of shape [8, 16], expected "
            "float32 of shape "
            "[9, 16]");
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(small, normed.State(), "net.safetensors"); }),
            "net.safetensors: the names of its tensors are not those of the network; missing: "
            "hidden0.norm_weight, hidden0.norm_bias, hidden0.running_mean, hidden0.running_var, "
            "hidden1.norm_weight, hidden1.norm_bias, hidden1.running_mean, hidden1.running_var and "
            "16 more; not expected: none");
}

TEST_F(TensorFileTest, ErrorNamesUnknownAndNonFiniteTensors) {
  ResNetFC net(SmallSpec(Norm::kNone), 1);
  TensorMap more = MapOf(net.State());
  more.emplace("surplus", at::zeros({1}));
  EXPECT_EQ(
      ErrorOf([&] { LoadStateDict(more, net.State(), "net.safetensors"); }),
      "net.safetensors: the names of its tensors are not those of the network; missing: none; not "
      "expected: surplus");
  // The second is finite, but not in fp32.
  for (const at::Tensor& bias : {at::tensor({std::nanf("")}), at::tensor({1e300}, at::kDouble)}) {
    TensorMap bad = MapOf(net.State());
    bad.insert_or_assign("output.bias", bias);
    EXPECT_EQ(ErrorOf([&] { LoadStateDict(bad, net.State(), "net.safetensors"); }),
              "net.safetensors: tensor 'output.bias' contains values that are not finite");
  }
}

TEST_F(TensorFileTest, WholeNumbersNeedTheSameType) {
  const StateDict into = {{"count", at::zeros({}, at::kLong)}};
  LoadStateDict({{"count", at::zeros({}, at::kLong).fill_(3)}}, into, "net.safetensors");
  EXPECT_EQ(into.front().second.item<std::int64_t>(), 3);
  const TensorMap other = {{"count", at::zeros({})}};
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(other, into, "net.safetensors"); }),
            "net.safetensors: tensor 'count' is float32 of shape [], expected int64 of shape []");
}

TEST_F(TensorFileTest, ThrowsIfTheDiskIsFull) {
  std::filesystem::create_symlink("/dev/full", path_);
  EXPECT_THROW(WriteTensorFile(path_, ResNetFC(SmallSpec(Norm::kNone), 1).State()), Error);
}

TEST_F(TensorFileTest, ErrorNamesATruncatedOrForeignFile) {
  WriteTensorFile(path_, ResNetFC(SmallSpec(Norm::kNone), 1).State());
  const std::string whole = ReadFile(path_);
  WriteFileAtomically(path_, std::string_view(whole).substr(0, whole.size() / 2));
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.safetensors: damaged tensor file"),
            std::string::npos);
  WriteFileAtomically(path_, "hello");
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.safetensors: not a safetensors file"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              ReadTensorFile(folder_.path() / "none.safetensors");
            }).find("none.safetensors"),
            std::string::npos);
}

TEST_F(TensorFileTest, KeepsEveryTypeOfTensor) {
  const StateDict state = {
      {"byte", at::ones({3}, at::kByte)}, {"half", at::ones({3}, at::kBFloat16)},
      {"float", at::randn({3})},          {"count", at::arange(12, at::kLong).view({3, 4}).t()},
      {"none", at::empty({0, 3})},        {"scalar", at::scalar_tensor(2.5)}};
  const std::string sha256 = WriteTensorFile(path_, state);
  EXPECT_EQ(sha256, WeightsSha256(state));
  const TensorMap read = ReadTensorFile(path_).tensors;
  ASSERT_EQ(read.size(), state.size());
  for (const auto& [name, tensor] : state) {
    EXPECT_EQ(read.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read.at(name), tensor)) << name;
  }
}

TEST_F(TensorFileTest, WritesOnlyTheElementsOfAView) {
  const at::Tensor large = at::randn({1000, 50});
  const StateDict views = {{"row", large[7]},
                           {"column", large.select(1, 3)},
                           {"block", large.slice(0, 10, 20)},
                           {"every_second", large.slice(1, 0, 50, 2)},
                           {"scalar", large[2][3]},
                           {"turned", at::arange(6, at::kLong).view({2, 3}).t()},
                           {"none", large.slice(0, 0, 0)}};
  const std::int64_t elements = 50 + 1000 + 500 + 25000 + 1 + 2 * 6;
  WriteTensorFile(path_, views);
  EXPECT_LT(std::filesystem::file_size(path_), static_cast<std::uintmax_t>(elements * 4 + 4000));
  const TensorMap read = ReadTensorFile(path_).tensors;
  StateDict back;
  for (const auto& [name, tensor] : views) back.emplace_back(name, read.at(name));
  EXPECT_EQ(WeightsSha256(back), WeightsSha256(views));
}

// The hash is computed while the file is written, on another thread if a tensor is large.
TEST_F(TensorFileTest, HashOfWeightsDoesNotDependOnOtherTensors) {
  const StateDict weights = {{"large", at::randn({700, 800})},
                             {"turned", at::randn({700, 800}).t()},
                             {"none", at::empty({0})},
                             {"small", at::randn({3})}};
  const StateDict others = {{"count", at::zeros({}, at::kLong)}, {"moments", at::randn({5, 4})}};
  EXPECT_EQ(WriteTensorFile(path_, weights, others), WeightsSha256(weights));
  EXPECT_EQ(ReadTensorFile(path_).metadata.at(kWeightsSha256), WeightsSha256(weights));
}

TEST_F(TensorFileTest, FailureToWriteLeavesTheFileAsItWas) {
  WriteFileAtomically(path_, "before");
  EXPECT_THROW(WriteTensorFile(path_, {{"w", at::zeros({1}, at::kComplexFloat)}}), Error);
  EXPECT_EQ(ReadFile(path_), "before");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(TensorFileTest, ErrorNamesTheFileWhicheverByteIsDamaged) {
  WriteTensorFile(path_, ResNetFC(SmallSpec(Norm::kNone), 1).State());
  const std::string whole = ReadFile(path_);
  for (std::size_t i = 0; i < whole.size(); i += 1 + whole.size() / 200) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x40);
    WriteFileAtomically(path_, changed);
    EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.safetensors: "), std::string::npos)
        << i;
  }
}

TEST_F(TensorFileTest, RejectsHostileContentsEvenIfTheHashMatches) {
  const auto error_of = [&](const std::vector<std::int64_t>& sizes, const std::string& data) {
    const auto start = [&](const std::string& hash) {
      return SafetensorsHeader({{.name = "w", .sizes = sizes}}, {{std::string(kFileHash), hash}});
    };
    WriteFileAtomically(path_, start(HashOf(data + start(kNoFileHash))) + data);
    return ErrorOf([&] { ReadTensorFile(path_); });
  };
  const std::string four(16, '\0');
  EXPECT_EQ(error_of({4}, four), "");
  for (const std::string& error :
       {error_of({4}, ""), error_of({4}, "1"), error_of({std::int64_t{1} << 30}, four),
        error_of({std::int64_t{1} << 61}, four), error_of({std::int64_t{1} << 32, 0}, four),
        error_of({2}, four), error_of(std::vector<std::int64_t>(9, 1), "1234")}) {
    EXPECT_NE(error.find("net.safetensors: damaged tensor file: "), std::string::npos) << error;
  }
}

TEST_F(TensorFileTest, RejectsPipesAndSizesBeyondMemory) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.safetensors: it is a pipe"),
            std::string::npos);
  std::filesystem::remove(path_);
  WriteFileAtomically(path_, "data");
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 37);
  EXPECT_NE(ErrorOf([&] {
              ReadTensorFile(path_);
            }).find("net.safetensors: its size is 128.0 GiB, expected at"),
            std::string::npos);
}

// A file of a few bytes on disk must not take all memory.
TEST_F(TensorFileTest, RejectsFilesThatAreMostlyHoles) {
  WriteTensorFile(path_, ResNetFC(SmallSpec(Norm::kNone), 1).State());
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 28);
  if (OpenFile(path_).data_bytes() == OpenFile(path_).size()) {
    GTEST_SKIP() << "the file system does not say where holes are";
  }
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("256.0 MiB were written"),
            std::string::npos)
      << ErrorOf([&] { ReadTensorFile(path_); });
}

TEST(WeightsSha256, HashesTheDocumentedBytes) {
  // sha256 of "w\0float32\0[2]\0" and 1.0f, -2.0f in little-endian bytes, by Python's hashlib.
  const StateDict state = {{"w", at::tensor({1.0F, -2.0F})}};
  EXPECT_EQ(WeightsSha256(state),
            "3300c99aa355390afdd3458b9e8f70cc2271e12e23cd8fa0582f9a6ea6eaf6c9");
}

TEST(SumsOfBits, DifferIfOneElementOfAnyTensorDiffersByOneBit) {
  const ResNetFC net(SmallSpec(Norm::kBatch), 1);
  const StateDict state = net.State();
  const at::Tensor before = SumsOfBits(state);
  ASSERT_EQ(before.numel(), static_cast<std::int64_t>(2 * state.size()));
  EXPECT_TRUE(at::equal(before, SumsOfBits(state)));
  int changed = 0;
  for (const auto& [name, tensor] : state) {
    if (tensor.scalar_type() != at::kFloat) continue;
    auto* const last = tensor.mutable_data_ptr<float>() + tensor.numel() - 1;
    FlipLowestBit(*last);
    EXPECT_FALSE(at::equal(before, SumsOfBits(state))) << name;
    FlipLowestBit(*last);
    ++changed;
  }
  EXPECT_GT(changed, 4);
}

TEST(SumsOfBits, DifferIfTwoElementsChangePlaces) {
  const ResNetFC net(SmallSpec(Norm::kNone), 1);
  const StateDict state = net.State();
  const at::Tensor before = SumsOfBits(state);
  auto* const data = state.front().second.mutable_data_ptr<float>();
  ASSERT_NE(data[0], data[1]);
  std::swap(data[0], data[1]);
  EXPECT_FALSE(at::equal(before, SumsOfBits(state)));
}

}  // namespace
}  // namespace tandem
