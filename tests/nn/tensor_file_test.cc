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
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/tensor_archive.h"
#include "base/file.h"
#include "nn/resnet_fc.h"
#include "support/pickles.h"
#include "support/small_spec.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

class TensorFile : public testing::Test {
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
  const std::filesystem::path path_ = folder_.path() / "net.pt";
};

TEST_F(TensorFile, WriteAndReadGiveTheSameWeights) {
  const ResNetFC net(SmallSpec(Norm::kBatch), 1);
  WriteTensorFile(path_, ToTensorDict(net.State()));
  ResNetFC other(SmallSpec(Norm::kBatch), 2);
  LoadStateDict(ReadTensorFile(path_), other.State(), "net.pt");
  EXPECT_EQ(WeightsSha256(other.State()), WeightsSha256(net.State()));
}

TEST_F(TensorFile, ErrorNamesTheTensorThatDoesNotFit) {
  const TensorDict small = ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State());
  NetworkSpec wider = SmallSpec(Norm::kNone);
  wider.layers.width = 9;
  ResNetFC wide(wider, 1), normed(SmallSpec(Norm::kBatch), 1);
  EXPECT_EQ(
      ErrorOf([&] { LoadStateDict(small, wide.State(), "net.pt"); }),
      "net.pt: tensor 'hidden1.weight' is float32 of shape [8, 16], expected float32 of shape "
      "[9, 16]");
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(small, normed.State(), "net.pt"); }),
            "net.pt: the names of its tensors are not those of the network; missing: "
            "hidden0.norm_weight, hidden0.norm_bias, hidden0.running_mean, hidden0.running_var, "
            "hidden1.norm_weight, hidden1.norm_bias, hidden1.running_mean, hidden1.running_var and "
            "16 more; not expected: none");
}

TEST_F(TensorFile, ErrorNamesUnknownAndNonFiniteTensors) {
  ResNetFC net(SmallSpec(Norm::kNone), 1);
  TensorDict more = ToTensorDict(net.State());
  more.insert("surplus", at::zeros({1}));
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(more, net.State(), "net.pt"); }),
            "net.pt: the names of its tensors are not those of the network; missing: none; not "
            "expected: surplus");
  // The second is finite, but not in fp32.
  for (const at::Tensor& bias : {at::tensor({std::nanf("")}), at::tensor({1e300}, at::kDouble)}) {
    TensorDict bad = ToTensorDict(net.State());
    bad.insert_or_assign("output.bias", bias);
    EXPECT_EQ(ErrorOf([&] { LoadStateDict(bad, net.State(), "net.pt"); }),
              "net.pt: tensor 'output.bias' contains values that are not finite");
  }
}

TEST_F(TensorFile, WholeNumbersNeedTheSameType) {
  const StateDict into = {{"count", at::zeros({}, at::kLong)}};
  LoadStateDict(ToTensorDict({{"count", at::zeros({}, at::kLong).fill_(3)}}), into, "net.pt");
  EXPECT_EQ(into.front().second.item<std::int64_t>(), 3);
  const TensorDict other = ToTensorDict({{"count", at::zeros({})}});
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(other, into, "net.pt"); }),
            "net.pt: tensor 'count' is float32 of shape [], expected int64 of shape []");
}

TEST_F(TensorFile, ThrowsIfTheDiskIsFull) {
  std::filesystem::create_symlink("/dev/full", path_);
  EXPECT_THROW(WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State())),
               Error);
}

TEST_F(TensorFile, ErrorNamesATruncatedOrForeignFile) {
  WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State()));
  const std::string whole = ReadFile(path_);
  WriteFileAtomically(path_, std::string_view(whole).substr(0, whole.size() / 2));
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: damaged tensor file"),
            std::string::npos);
  WriteFileAtomically(path_, "hello");
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: not a tensor file"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(folder_.path() / "none.pt"); }).find("none.pt"),
            std::string::npos);
}

TEST_F(TensorFile, ErrorSaysWhichFormatAFileOfWeightsHas) {
  const auto error_of = [&](std::string_view content) {
    WriteFileAtomically(path_, content);
    return ErrorOf([&] { ReadWeights(path_); });
  };
  // What torch.save wrote before PyTorch 1.6 begins with a pickle of a magic number.
  const std::string pickle("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  EXPECT_NE(error_of(pickle).find("net.pt: in the format that torch.save wrote before PyTorch 1.6"),
            std::string::npos);
  EXPECT_NE(error_of("hello, world").find("net.pt: not a file of weights"), std::string::npos);
  EXPECT_NE(error_of("hello").find("net.pt: damaged tensor file"), std::string::npos);
}

TEST_F(TensorFile, KeepsEveryKindOfEntry) {
  TensorDict inner = MakeTensorDict();
  inner.insert("loss", 1.5);
  inner.insert("view", at::arange(12, at::kLong).view({3, 4}).t());
  TensorDict dict = MakeTensorDict();
  dict.insert("large", std::int64_t{1} << 40);
  dict.insert("negative", std::int64_t{-3});
  dict.insert("text", "some text");
  dict.insert("flag", true);
  dict.insert("half", at::ones({2}, at::kBFloat16));
  dict.insert("none", at::empty({0, 3}));
  dict.insert("scalar", at::scalar_tensor(2.5));
  dict.insert("inner", inner);
  WriteTensorFile(path_, dict);
  const TensorDict read = ReadTensorFile(path_);
  EXPECT_EQ(read.at("large").toInt(), std::int64_t{1} << 40);
  EXPECT_EQ(read.at("negative").toInt(), -3);
  EXPECT_EQ(read.at("text").toStringRef(), "some text");
  EXPECT_TRUE(read.at("flag").toBool());
  EXPECT_TRUE(at::equal(read.at("half").toTensor(), dict.at("half").toTensor()));
  EXPECT_EQ(read.at("none").toTensor().sizes(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(read.at("scalar").toTensor().item<float>(), 2.5F);
  const TensorDict read_inner = read.at("inner").toGenericDict();
  EXPECT_EQ(read_inner.at("loss").toDouble(), 1.5);
  EXPECT_TRUE(at::equal(read_inner.at("view").toTensor(), inner.at("view").toTensor()));
}

TEST_F(TensorFile, MayContainOneNetworkTwice) {
  const TensorDict net = ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State());
  TensorDict dict = MakeTensorDict();
  for (const char* name : {"model", "resume", "target"}) dict.insert(name, net.copy());
  WriteTensorFile(path_, dict);
  ResNetFC read(SmallSpec(Norm::kNone), 2);
  EXPECT_NO_THROW(
      LoadStateDict(ReadTensorFile(path_).at("resume").toGenericDict(), read.State(), "net.pt"));
}

TEST_F(TensorFile, WritesATensorThatOccursTwiceOnce) {
  const auto size_with = [&](const at::Tensor& a, const at::Tensor& b) {
    TensorDict dict = MakeTensorDict();
    dict.insert("a", a);
    dict.insert("b", b);
    WriteTensorFile(path_, dict);
    const TensorDict read = ReadTensorFile(path_);
    EXPECT_TRUE(at::equal(read.at("a").toTensor(), a));
    EXPECT_TRUE(at::equal(read.at("b").toTensor(), b));
    return std::filesystem::file_size(path_);
  };
  const at::Tensor one = at::randn({64, 64});
  const std::uintmax_t different = size_with(one, at::randn({64, 64}));
  EXPECT_LE(size_with(one, one.detach()), different - one.nbytes());
  EXPECT_GE(size_with(one, one.t()), different - 256);
}

TEST_F(TensorFile, WritesOnlyTheElementsOfAView) {
  const at::Tensor large = at::randn({1000, 50});
  const StateDict views = {{"row", large[7]},
                           {"column", large.select(1, 3)},
                           {"block", large.slice(0, 10, 20)},
                           {"every_second", large.slice(1, 0, 50, 2)},
                           {"scalar", large[2][3]},
                           {"turned", at::arange(6, at::kLong).view({2, 3}).t()},
                           {"none", large.slice(0, 0, 0)}};
  const std::int64_t elements = 50 + 1000 + 500 + 25000 + 1 + 2 * 6;
  WriteTensorFile(path_, ToTensorDict(views));
  EXPECT_LT(std::filesystem::file_size(path_), static_cast<std::uintmax_t>(elements * 4 + 4000));
  const TensorDict read = ReadTensorFile(path_);
  StateDict back;
  for (const auto& [name, tensor] : views) back.emplace_back(name, read.at(name).toTensor());
  EXPECT_EQ(WeightsSha256(back), WeightsSha256(views));
}

// The hashes are computed while the file is written, with the order of its tensors or another one.
TEST_F(TensorFile, EntriesCanBeCompletedWithHashesOfItsTensors) {
  const StateDict state = {{"large", at::randn({700, 800})},
                           {"turned", at::randn({700, 800}).t()},
                           {"none", at::empty({0})},
                           {"small", at::randn({3})}};
  const std::vector<StateDict> hashed = {
      state, {state.rbegin(), state.rend()}, {{"other", at::randn({5, 4})}}, {}};
  TensorDict dict = ToTensorDict(state);
  dict.insert("hash", "");
  std::vector<std::string> sha256;
  WriteTensorFile(path_, dict, hashed,
                  [&](TensorDict& entries, const std::vector<std::string>& hashes) {
                    sha256 = hashes;
                    entries.insert_or_assign("hash", hashes[0]);
                  });
  ASSERT_EQ(sha256.size(), hashed.size());
  for (std::size_t i = 0; i < hashed.size(); ++i) EXPECT_EQ(sha256[i], WeightsSha256(hashed[i]));
  EXPECT_EQ(ReadTensorFile(path_).at("hash").toStringRef(), sha256[0]);
  EXPECT_EQ(dict.at("hash").toStringRef(), "");
}

TEST_F(TensorFile, FailureToCompleteLeavesTheFileAsItWas) {
  WriteFileAtomically(path_, "before");
  const TensorDict dict = ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State());
  const auto fail = [](TensorDict&, const std::vector<std::string>&) { throw Error("no hash"); };
  EXPECT_THROW(WriteTensorFile(path_, dict, {}, fail), Error);
  EXPECT_EQ(ReadFile(path_), "before");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(TensorFile, ErrorNamesTheFileWhicheverByteIsDamaged) {
  WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State()));
  const std::string whole = ReadFile(path_);
  for (std::size_t i = 0; i < whole.size(); i += 1 + whole.size() / 200) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x40);
    WriteFileAtomically(path_, changed);
    EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: "), std::string::npos) << i;
  }
}

TEST_F(TensorFile, RejectsHostileContentsEvenIfTheHashMatches) {
  using namespace pickles;
  const auto error_of = [&](const std::string& value, const std::string& storage) {
    std::string file;
    HashedArchive archive([&](std::string_view bytes) { file += bytes; });
    archive.Add(Zip({{.name = "net/data.pkl", .content = Pickle(value)},
                     {.name = "net/data/0", .content = storage}}));
    archive.Finish();
    WriteFileAtomically(path_, file);
    return ErrorOf([&] { ReadTensorFile(path_); });
  };
  const auto error_of_tensor = [&](std::int64_t offset, std::int64_t size, std::int64_t stride,
                                   const std::string& storage) {
    return error_of(
        Dict({{"w", Tensor(Storage("FloatStorage", "0", 4), offset, {size}, {stride})}}), storage);
  };
  const std::string four(16, '\0');
  EXPECT_EQ(error_of_tensor(0, 4, 1, four), "");
  for (const std::string& error : {error_of_tensor(0, 4, 1, ""), error_of_tensor(0, 4, 1, "\1"),
                                   error_of_tensor(std::int64_t{1} << 30, 1, 1, four),
                                   error_of_tensor(std::int64_t{1} << 61, 1, 1, four),
                                   error_of_tensor(0, 2, std::int64_t{1} << 30, four),
                                   error_of(")" + std::string(3'000'000, '\x85'), four)}) {
    EXPECT_NE(error.find("net.pt: damaged tensor file: "), std::string::npos) << error;
  }
}

TEST_F(TensorFile, RejectsPipesAndSizesBeyondMemory) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: it is a pipe"),
            std::string::npos);
  std::filesystem::remove(path_);
  WriteFileAtomically(path_, "PK\3\4");
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 37);
  EXPECT_NE(
      ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: its size is 128.0 GiB, expected at"),
      std::string::npos);
}

// A file of a few bytes on disk must not take all memory.
TEST_F(TensorFile, RejectsFilesThatAreMostlyHoles) {
  WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State()));
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

}  // namespace
}  // namespace tandem
